import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Project, projectWithPackage, runProgram } from '../support/packed.ts'

const root = join(import.meta.dirname, '../..')

let project: Project
/** The tools with which services are built, by the name of their command. */
let tool: (name: string) => string
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(join(root, '.ci/builds-fetch'))
  tool = name => join(stdout.trim(), 'node_modules', name)
  project = await projectWithPackage()
  await project.write('package.json', '{"private":true}')
  await project.write('service.ts', service)
  await project.write('main.ts', main)
  await project.write('warnings.cjs', "process.on('warning', ({ message }) => console.log(message))")
}, 600_000)
afterAll(() => project?.remove())

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
