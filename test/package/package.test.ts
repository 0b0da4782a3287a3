import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { blocks } from '../support/documents.ts'
import { type Project, projectWithPackage, runProgram } from '../support/packed.ts'

const root = join(import.meta.dirname, '../..')

let project: Project
beforeAll(async () => {
  project = await projectWithPackage()
}, 300_000)
afterAll(() => project?.remove())

/** The TypeScript blocks of all documents, each as a file named after its place, with the same line numbers. */
const examples = blocks
  .filter(({ language, excuse }) => language === 'ts' && excuse === null)
  .map(({ file, line, text }) => ({
    name: `${file.replaceAll('/', '.')}.${line}.ts`,
    code: '\n'.repeat(line - 1) + text,
  }))

/** The example of a worker inside a service, as a user would copy it into a project. */
const embedded = ['service.mts', 'embedded.test.mts'].map(name => ({
  name,
  code: readFileSync(join(root, 'examples/embedded', name), 'utf8'),
}))

const everything = `
import {
  type Bus, BusUnavailable, confluentRegistry, createWorker, embeddedRegistry, type Events, loadSettings, openBus, RegistryUnavailable,
  SchemaNotFound, type SchemaRegistry, type Settings, Telemetry, type WorkerOptions,
} from 'busgate'
import { finalOf, lifecycleAfter, newLifecycle, readResults, type SendResult, waitForResult } from 'busgate/consumer'
import { GatewayClient, type GatewayError } from 'busgate/gateway'
import { type CommandHandle, type CommandProducer, createProducer, type NewCommand } from 'busgate/producer'
import { type OperationObject, operations, type Payload, partsOf } from 'busgate/protocol'
import { type Sandbox, startSandbox } from 'busgate/sandbox'

export const settings: Settings = loadSettings({ env: {} })
export const all = [createWorker, createProducer, operations, lifecycleAfter, newLifecycle, partsOf('Hi').parts]
export const sandbox: Promise<Sandbox> = startSandbox()
export const client = new GatewayClient({ url: 'https://gateway.example', apiKey: () => 'key' })

const telemetry = new Telemetry()
const registries = [confluentRegistry({ url: 'http://registry:8081' }), embeddedRegistry()]
export async function optionsWith(bus: Bus): Promise<WorkerOptions[]> {
  return [{ telemetry, bus, registry: registries[0]! }, { bus: await openBus(settings, { telemetry }) }]
}
telemetry.on('account.paused', ({ account, reason, retryInMs }: Events['account.paused']) => console.log(account, reason, retryInMs))
// @ts-expect-error an internal event may change
telemetry.on('cycle.committed', ({ partition }) => console.log(partition))
// @ts-expect-error a bus shows nothing of its inside
export const inside = (bus: Bus) => bus.join
// @ts-expect-error a producer is no bus
export const mistaken = async (): Promise<WorkerOptions> => ({ bus: await createProducer(settings) })

export class OwnRegistry implements SchemaRegistry {
  async schemaOf(id: number): Promise<object> {
    throw new SchemaNotFound('there is no schema ' + id)
  }
  async idOf(): Promise<number> {
    throw new RegistryUnavailable('it is down')
  }
}
export const codeOf = (error: unknown) =>
  error instanceof RegistryUnavailable || error instanceof BusUnavailable ? error.code : null
export const isDefinite = (error: GatewayError) => error.definite
export async function outcomesOf(billing: AbortSignal): Promise<(SendResult | null)[]> {
  const results: SendResult[] = []
  for await (const { value } of readResults(settings, { from: { group: 'billing' }, signal: billing })) results.push(value)
  return [await waitForResult(settings, 1001), finalOf(results, { id: 1001 })]
}
// @ts-expect-error there is no such section of the settings
loadSettings({ env: {}, overrides: { kafak: 1 } })

const sms: OperationObject<'sms'> = { type: 'sms', id: 2n ** 60n, phone: 380501234567, sms_message: 'Hi', sms_signature: 'Shop' }
export const results = client.send([sms, { type: 'balance' }])
export const payload: Promise<Payload<'call/otp'>> = client.callOtp({ id: 1, phone: 380501234567 })
// @ts-expect-error its text is missing
client.sms({ id: 1, phone: 380501234567, sms_signature: 'Shop' })
// @ts-expect-error there is no such type of message
export const command: Partial<NewCommand> = { type: 'fax' }
export async function commandsOf(producer: CommandProducer, list: NewCommand[]): Promise<CommandHandle[]> {
  const one = { id: 1, phone: 380501234567 }
  const viber = { viber_signature: 'Shop', viber_message: 'Hi' }
  // @ts-expect-error there is no such variant
  await producer.send([{ ...one, type: 'viber', message: { ...viber, viber_type: 'tekst' } }])
  // @ts-expect-error it has no content
  await producer.send([{ ...one, type: 'viber+sms', message: {} }])
  // @ts-expect-error there is no such channel
  await producer.send([{ ...one, type: 'pipeline', message: { pipeline: ['smss'] } }])
  // @ts-expect-error there is no such field of a message
  await producer.send([{ ...one, type: 'viber', message: { ...viber, viber_type: 'text', viber_lifetme: 60 } }])
  // @ts-expect-error there is no such field of a command
  await producer.send([{ ...one, type: 'hlr', message: {}, tenent: 'shop' }])
  // @ts-expect-error one command has one handle
  const [, second] = await producer.send([{ ...one, type: 'hlr', message: {} }])
  // @ts-expect-error the list may be empty
  ;(await producer.send(list))[0].id
  const [first, other] = await producer.send([list[0]!, { ...one, type: 'hlr', message: {} }])
  return [first, other, ...(await producer.send(list))]
}
`

/** Prints the names of the packages that the process has loaded. The source map of a bundle names those within it. */
const loading = `
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const names = new Set()
registerHooks({
  load(url, context, next) {
    const map = url.startsWith('file:') ? fileURLToPath(url) + '.map' : ''
    const sources = existsSync(map) ? JSON.parse(readFileSync(map, 'utf8')).sources : []
    for (const path of [url, ...sources]) names.add(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(path)?.[1] ?? 'busgate')
    return next(url, context)
  },
})
process.on('exit', () => console.log(JSON.stringify([...names])))
`

describe('the packed package', () => {
  test('contains an SBOM with every dependency in its tested version, and no development tools', async () => {
    const bom = JSON.parse(await readFile(join(project.folder, 'node_modules/busgate/dist/busgate.cdx.json'), 'utf8'))
    const listed = new Map<string, string>()
    for (const { purl } of bom.components) {
      const [, name, version] = /^pkg:npm\/(.+)@([^@?]+)/.exec(decodeURIComponent(purl))!
      listed.set(name!, version!)
    }
    const { version, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    expect(bom.metadata.component.purl).toBe(`pkg:npm/busgate@${version}`)
    expect(Object.fromEntries(Object.keys(dependencies).map(name => [name, listed.get(name)]))).toEqual(dependencies)
    expect(['typescript', 'vitest', 'testcontainers'].filter(name => listed.has(name))).toEqual([])
  })

  test('contains the documents, examples and chart that its README links to', async () => {
    const brought = join(project.folder, 'node_modules/busgate')
    const readme = await readFile(join(brought, 'README.md'), 'utf8')
    const links = [...readme.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path]) => path!)
    expect(links.length).toBeGreaterThan(20)
    expect(links.filter(path => !existsSync(join(brought, path)))).toEqual([])
  })

  test('contains an API reference with every export of every entry point', async () => {
    for (const entry of ['', '/consumer', '/gateway', '/producer', '/protocol', '/sandbox']) {
      const names = `import('busgate${entry}').then(entry => console.log(Object.keys(entry).join()))`
      const exported = (await project.run('node', '--eval', names)).trim().split(',')
      const page = await readFile(join(project.folder, `node_modules/busgate/docs/api/busgate${entry}.md`), 'utf8')
      const headings = new Set([...page.matchAll(/^### (\w+)/gm)].map(([, name]) => name))
      expect(
        exported.filter(name => !headings.has(name)),
        entry,
      ).toEqual([])
    }
  })

  test('contains the sources within its source maps', async () => {
    const built = join(project.folder, 'node_modules/busgate/dist')
    const maps = (await readdir(built, { recursive: true })).filter(file => file.endsWith('.map'))
    expect(maps.length).toBeGreaterThan(20)
    for (const file of maps) {
      const { sources, sourcesContent } = JSON.parse(await readFile(join(built, file), 'utf8'))
      const own = sources.map((source: string, i: number) =>
        /\.\.\/src\//.test(source) ? sourcesContent[i] : 'not ours',
      )
      expect(own, file).toEqual(sources.map(() => expect.stringMatching(/./)))
    }
  })

  test('contains a command line that runs', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(await project.run('npx', '--offline', 'busgate', '--version')).toBe(`${version}\n`)
    expect(await project.run('npx', '--offline', 'busgate', 'gateway', '--help')).toContain('template/viber/create')
  })

  test('contains every command with all the files that it needs', async () => {
    const helps = await Promise.all(
      Object.keys(commands).map(name => project.run('node_modules/.bin/busgate', ...name.split(' '), '--help')),
    )
    expect(helps.length).toBeGreaterThan(20)
    for (const help of helps) expect(help).toMatch(/^Usage: busgate /)
  })

  test('is not needed in a checkout: the command line runs there without a build', async () => {
    const checkout = await mkdtemp(join(tmpdir(), 'busgate-checkout-'))
    onTestFinished(() => rm(checkout, { recursive: true }))
    for (const name of ['bin', 'package.json']) await cp(join(root, name), join(checkout, name), { recursive: true })
    for (const name of ['src', 'node_modules']) await symlink(join(root, name), join(checkout, name))
    expect(await runProgram(checkout, 'npx', ['--offline', 'busgate', '--version'])).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test('contains the page of busgate ui, with all files that a browser needs', async () => {
    const script = `
      import { spawn } from 'node:child_process'
      const env = { ...process.env, BUSGATE_KAFKA_BROKERS: '127.0.0.1:1', BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' }
      const ui = spawn(process.execPath, ['node_modules/.bin/busgate', 'ui', '--port', '0'], { env })
      for await (const line of ui.stdout) {
        const answers = await Promise.all(['', 'main.js', 'style.css', 'lit-html.js'].map(file => fetch(String(line).trim() + file)))
        console.log(answers.map(({ status }) => status).join())
        break
      }
      ui.kill('SIGINT')
    `
    await project.write('page.js', script)
    expect(await project.run('node', 'page.js')).toBe('200,200,200,200\n')
  })

  test.each([
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ])('has types for module %s, resolution %s, with which the documented examples compile', async (module, way) => {
    expect(examples.length).toBeGreaterThanOrEqual(7)
    const all = [{ name: 'everything.ts', code: everything }, ...examples, ...embedded]
    for (const { name, code } of all) await project.write(name, code)
    const compilerOptions = {
      ...{ module, moduleResolution: way, target: 'es2023', noEmit: true, types: ['node'], skipLibCheck: false },
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noImplicitOverride: true },
    }
    await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: all.map(({ name }) => name) }))
    expect(await project.run('tsc', '-p', '.')).toBe('')
  })

  test('passes the test in docs/gateway-client.md', async () => {
    const example = examples.find(({ name, code }) => name.includes('gateway-client') && code.includes('node:test'))
    await project.write('client.test.ts', example!.code)
    expect(await project.run('node', '--test', 'client.test.ts')).toMatch(/^. pass 1$/m)
  })

  test('runs the client example in docs/gateway-client.md, which catches the documented errors', async () => {
    const example = examples.find(
      ({ name, code }) => name.includes('gateway-client') && code.includes('gateway.example'),
    )
    const unreachable = example!.code
      .replace('https://gateway.example', 'http://127.0.0.1:1')
      .replace("process.env.GATEWAY_KEY ?? ''", "'a-key'")
    const calls = {
      first: unreachable,
      second: unreachable.replace('await gateway.sms(message)', '{ msg_id: 1, parts: 1 }'),
    }
    for (const [call, code] of Object.entries(calls)) {
      await project.write(`${call}.ts`, code)
      expect(await project.run('node', `${call}.ts`), call).toMatch(/^.*[A-Z_]+ not sent\n$/s)
    }
  })

  test.each(['commonjs', 'module'])(
    'runs the example of a worker inside a service, and its tests, in a project of type %s',
    async type => {
      await mkdir(join(project.folder, type), { recursive: true })
      await project.write(`${type}/package.json`, JSON.stringify({ type }))
      for (const { name, code } of embedded) await project.write(`${type}/${name}`, code)
      expect(await project.run('node', '--test', `${type}/embedded.test.mts`)).toMatch(/^. pass 3$/m)
    },
  )

  test.each(['busgate', 'busgate/consumer', 'busgate/gateway', 'busgate/producer', 'busgate/sandbox'])(
    'says in one sentence that Node.js is too old for %s',
    async entry => {
      const old = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.11.0'}})"
      await project.write('old.js', `import('${entry}').catch(error => console.log(error.message))`)
      expect(await project.run('node', `--import=data:text/javascript,${old}`, 'old.js')).toBe(
        'busgate needs Node.js 22.19 or newer, and this is 20.11.0: install a newer one (on Linux: npm install node@24, then npx busgate or node_modules/.bin/node).\n',
      )
    },
  )

  /** Runs code. @returns the npm packages whose code it loaded, bundled into busgate or not, without busgate itself */
  async function packagesLoadedBy(code: string): Promise<string[]> {
    await project.write('loaded.js', loading)
    await project.write('loads.js', code)
    const names: string[] = JSON.parse(await project.run('node', '--import', './loaded.js', 'loads.js'))
    return names.filter(name => name !== 'busgate').sort()
  }

  // with these packages, an import takes at most 3 times the time of kafkajs's, and 1.4 times its memory (npm run bench -- imports)
  test.each([
    ['busgate', ['yaml', 'zod']],
    ['busgate/producer', ['@opentelemetry/api', 'avsc', 'libphonenumber-js', 'p-limit', 'yaml', 'yocto-queue', 'zod']],
    ['busgate/consumer', ['@opentelemetry/api', 'libphonenumber-js', 'yaml', 'zod']],
    ['busgate/gateway', ['undici', 'zod']],
    ['busgate/protocol', ['zod']],
  ])('loads only what it needs at the import of %s', async (entry, packages) => {
    expect(await packagesLoadedBy(`import '${entry}'`)).toEqual(packages)
  })

  test("loads no client of Kafka or of a registry for a producer over a service's own kafkajs and registry", async () => {
    const code = `
      import { embeddedRegistry, loadSettings } from 'busgate'
      import { createProducer } from 'busgate/producer'
      const settings = loadSettings({ env: { BUSGATE_KAFKA_BROKERS: 'kafka:9092', BUSGATE_REGISTRY_URL: 'http://registry' } })
      const kafka = { producer: () => ({ connect: async () => {}, sendBatch: async () => [{ topicName: 'busgate.commands', partition: 0 }] }) }
      const producer = await createProducer(settings, { kafka, registry: embeddedRegistry() })
      const message = { sms_signature: 'Shop', sms_message: 'Hello' }
      await producer.send([{ id: 1, phone: 380671234567, type: 'sms', message }])`
    const packages = await packagesLoadedBy(code)
    expect(packages).toContain('avsc')
    expect(packages.filter(name => ['@platformatic/kafka', 'kafkajs', 'undici'].includes(name))).toEqual([])
  })

  test('works together with another copy of it in one process', async () => {
    await cp(join(project.folder, 'node_modules/busgate'), join(project.folder, 'node_modules/copy'), {
      recursive: true,
    })
    await project.write(
      'copies.js',
      `import { loadSettings, RegistryUnavailable } from 'busgate'
      import { waitForResult } from 'busgate/consumer'
      import * as copy from 'copy'
      import { createProducer } from 'copy/producer'
      import { startSandbox } from 'copy/sandbox'

      const sandbox = await startSandbox()
      const overrides = { kafka: { brokers: 'embedded' }, gateway: { url: sandbox.url, apiKey: 'sandbox-key' }, telemetry: { port: 0 } }
      const settings = loadSettings({ env: {}, overrides })
      const worker = await copy.createWorker(settings)
      const producer = await createProducer(settings)
      await producer.send([{ id: 1, phone: 380671234567, type: 'sms', message: { sms_signature: 'Shop', sms_message: 'Hi' } }])
      const { outcome } = await waitForResult(settings, 1)
      console.log(outcome, new copy.RegistryUnavailable('down') instanceof RegistryUnavailable)
      process.exit()`,
    )
    expect(await project.run('node', 'copies.js')).toBe('SENT true\n')
  })

  test('works from plain JavaScript', async () => {
    await project.write(
      'plain.js',
      `import { GatewayClient } from 'busgate/gateway'
      import { operationTypes } from 'busgate/protocol'
      import { createProducer } from 'busgate/producer'
      import { startSandbox } from 'busgate/sandbox'

      const sandbox = await startSandbox({ balance: 7 })
      const client = new GatewayClient({ url: sandbox.url, apiKey: 'sandbox-key' })
      const { parts } = await client.sms({ id: 1, phone: 380501234567, sms_message: 'Hi', sms_signature: 'Shop' })
      console.log(parts, await client.balance(), operationTypes.length, typeof createProducer)
      await client.close()
      await sandbox.close()`,
    )
    expect(await project.run('node', 'plain.js')).toBe("1 { amount: 6, currency: 'UAH' } 20 function\n")
  })
})
