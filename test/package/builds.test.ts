import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/index.ts'
import { until } from '../support/bus.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { type Project, projectWithPackage, runProgram } from '../support/packed.ts'

const root = join(import.meta.dirname, '../..')

let project: Project
/** The tools with which services are built, by the name of their command. */
let tool: (name: string) => string
beforeAll(async () => {
  const tools = await fetched('test/package/tools')
  tool = name => join(tools, name)
  project = await projectWithPackage()
  await project.write('package.json', '{"private":true}')
  await project.write('service.ts', service)
  await project.write('main.ts', main)
  await project.write('warnings.cjs', "process.on('warning', ({ message }) => console.log(message))")
}, 600_000)
afterAll(() => project?.remove())

/** Where the dependencies of a package.json are installed. */
async function fetched(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(join(root, '.ci/builds-fetch'), [folder])
  return join(stdout.trim(), 'node_modules')
}

/** A service that sends a message, without Kafka. */
const service = `
import { createWorker, loadSettings, type Settings } from 'busgate'
import { waitForResult } from 'busgate/consumer'
import { GatewayClient } from 'busgate/gateway'
import { createProducer } from 'busgate/producer'
import { operationTypes } from 'busgate/protocol'
import { startSandbox } from 'busgate/sandbox'

export async function sendOne(): Promise<string> {
  const sandbox = await startSandbox({ callbackDelayMs: 0, balance: 7 })
  const access = { url: sandbox.url, apiKey: 'sandbox-key' }
  const overrides = { kafka: { brokers: 'embedded' as const }, gateway: access, telemetry: { port: 0 } }
  const settings: Settings = loadSettings({ env: {}, overrides })
  const worker = await createWorker(settings)
  const producer = await createProducer(settings)
  const gateway = new GatewayClient(access)
  const message = { sms_signature: 'Shop', sms_message: 'Hello' }
  await producer.send([{ id: 1, phone: 380671234567, type: 'sms', message }])
  const { outcome } = await waitForResult(settings, 1)
  const { amount } = await gateway.balance()
  await Promise.all([producer.close(), gateway.close(), worker.close(), sandbox.close()])
  return outcome + ' ' + amount + ' ' + operationTypes.length
}
`
const main = `
import { sendOne } from './service'
void sendOne().then(text => console.log(text))
`
const sent = 'SENT 6 20'

/** What a project in TypeScript 5 sets, besides how it resolves modules. */
const usual = {
  ...{ target: 'es2022', lib: ['es2022', 'esnext.disposable'], types: ['node'], outDir: 'out' },
  ...{ strict: true, exactOptionalPropertyTypes: true, esModuleInterop: true, skipLibCheck: false },
}

const esbuild = (...options: string[]) =>
  project.run(tool('.bin/esbuild'), 'main.ts', '--bundle', '--platform=node', '--log-level=warning', ...options)

/** Runs a file in a folder of its own, without packages. */
async function runAlone(file: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'busgate-alone-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await cp(join(project.folder, file), join(folder, file))
  return runProgram(folder, 'node', [file])
}

describe('a service that uses busgate', () => {
  test.each([
    { module: 'commonjs', moduleResolution: 'node' },
    { module: 'node16' },
    { module: 'node20' },
    { module: 'nodenext' },
  ])(
    'is compiled to CommonJS by TypeScript 5 with %o, and runs without a warning on the oldest supported Node.js',
    async way => {
      await rm(join(project.folder, 'out'), { recursive: true, force: true })
      await project.write(
        'tsconfig.json',
        JSON.stringify({ compilerOptions: { ...usual, ...way }, files: ['main.ts'] }),
      )
      expect(await project.run(tool('.bin/tsc'), '-p', '.')).toBe('')
      expect(await project.run(tool('.bin/node'), '--require', './warnings.cjs', 'out/main.js')).toBe(`${sent}\n`)
    },
  )

  test.each(['commonjs', 'module'])('runs with tsx in a package of type %s', async type => {
    await mkdir(join(project.folder, type), { recursive: true })
    await project.write(`${type}/package.json`, JSON.stringify({ type }))
    await project.write(`${type}/service.ts`, service)
    await project.write(`${type}/main.ts`, main)
    expect(await project.run(tool('.bin/tsx'), `${type}/main.ts`)).toBe(`${sent}\n`)
  })

  test('runs with Bun', async () => {
    expect(await project.run(tool('.bin/bun'), 'main.ts')).toBe(`${sent}\n`)
  })

  test('is bundled by esbuild with busgate outside of the bundle', async () => {
    await esbuild('--packages=external', '--outfile=outside.cjs')
    expect(await project.run('node', 'outside.cjs')).toBe(`${sent}\n`)
  })

  test.each([
    ['cjs', 'inside.cjs'],
    ['esm', 'inside.mjs'],
  ])('is bundled by esbuild together with busgate into one file of format %s', async (format, file) => {
    await esbuild(`--format=${format}`, `--outfile=${file}`)
    expect(await runAlone(file)).toBe(`${sent}\n`)
  })

  test('is tested with Vitest', async () => {
    const code = `import { expect, test } from 'vitest'
      import { sendOne } from './service'
      test('sends', async () => expect(await sendOne()).toBe('${sent}'), 60_000)`
    await project.write('vitest.test.ts', code)
    expect(await project.run('vitest', 'run', '--root', '.', 'vitest.test.ts')).toMatch(/Tests {2}1 passed/)
  })

  test('is tested with Jest and ts-jest, with the flag in docs/embedding.md', async () => {
    const transform = {
      '\\.ts$': [tool('ts-jest'), { tsconfig: { ...usual, module: 'commonjs' }, diagnostics: false }],
    }
    await project.write('jest.config.json', JSON.stringify({ transform, testMatch: ['<rootDir>/jest.test.ts'] }))
    const code = `import { sendOne } from './service'
      test('sends', async () => expect(await sendOne()).toBe('${sent}'), 60_000)`
    await project.write('jest.test.ts', code)
    const jest = [tool('jest/bin/jest.js'), '--config', 'jest.config.json']
    await expect(project.run('node', '--experimental-vm-modules', ...jest)).resolves.toBe('')
    await expect(project.run('node', ...jest)).rejects.toThrow('Must use import to load ES Module')
  })
})

describe('the example of a service with', () => {
  /** Copies an example into the project, with its dependencies. @returns its folder */
  async function exampleOf(framework: string): Promise<string> {
    const source = `examples/${framework}`
    const folder = join(project.folder, framework)
    await cp(join(root, source), folder, { recursive: true })
    await symlink(await fetched(source), join(folder, 'node_modules'))
    return folder
  }

  /** Starts a service with a gateway, posts an order that is ready, and ends it as a supervisor does. @returns the answers */
  async function answersOf(folder: string, program: string) {
    await using sandbox = await startSandbox()
    const [port] = await freePorts(1)
    const env = {
      PATH: process.env.PATH,
      PORT: String(port),
      BUSGATE_KAFKA_BROKERS: 'embedded',
      BUSGATE_GATEWAY_URL: sandbox.url,
      BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
      BUSGATE_TELEMETRY_PORT: '0',
    }
    const service = spawn('node', [program], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
    onTestFinished(() => void service.kill('SIGKILL'))
    const ended = once(service, 'exit')
    const url = `http://127.0.0.1:${port}`
    await until(async () => expect((await fetch(`${url}/health`)).status).toBe(200))
    const headers = { 'content-type': 'application/json' }
    const order = await fetch(`${url}/orders/17/ready`, { method: 'POST', headers, body: '{"phone":"067 123-45-67"}' })
    const answer = await order.json()
    service.kill('SIGTERM')
    return { answer, executions: sandbox.executions(17), ended: await ended }
  }

  const answers = { answer: { outcome: 'SENT', errorCode: null }, executions: 1 }

  test('Fastify compiles, passes its test, starts, sends, and stops on SIGTERM', async () => {
    const folder = await exampleOf('fastify')
    const strict = {
      module: 'nodenext',
      target: 'es2023',
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
    }
    const compilerOptions = { ...strict, types: ['node'], exactOptionalPropertyTypes: true, skipLibCheck: true }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    expect(await runProgram(folder, 'tsc', ['-p', '.'])).toBe('')
    expect(await runProgram(folder, 'node', ['--test', 'service.test.ts'])).toMatch(/^. pass 1$/m)
    expect(await answersOf(folder, 'main.ts')).toEqual({ ...answers, ended: [0, null] })
  })

  test('Nest compiles, passes its test, starts, sends, and stops on SIGTERM', async () => {
    const folder = await exampleOf('nest')
    expect(await runProgram(folder, join(folder, 'node_modules/.bin/tsc'), [])).toBe('')
    expect(await runProgram(folder, 'node', ['--test', 'dist/orders.test.js'])).toMatch(/^. pass 1$/m)
    expect(await answersOf(folder, 'dist/main.js')).toEqual({ ...answers, ended: [null, 'SIGTERM'] })
  })
})
