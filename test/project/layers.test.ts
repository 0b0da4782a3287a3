import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)

/** What each room may import; the command line and the files beside the rooms may import them all. */
const allowed: Record<string, string[]> = {
  protocol: [],
  telemetry: [],
  config: ['protocol'],
  bus: ['telemetry', 'config'],
  records: ['bus', 'protocol', 'telemetry', 'config'],
  gateway: ['protocol', 'telemetry', 'config'],
  accounts: ['gateway', 'protocol', 'telemetry', 'config'],
  pauses: ['bus', 'telemetry'],
  dispatch: ['accounts', 'gateway', 'pauses', 'bus', 'records', 'protocol', 'telemetry', 'config'],
  statuses: ['accounts', 'gateway', 'bus', 'records', 'protocol', 'telemetry', 'config'],
  callbacks: ['bus', 'records', 'statuses', 'protocol', 'telemetry', 'config'],
  consumer: ['bus', 'records', 'protocol', 'telemetry', 'config'],
  sandbox: ['protocol'],
  inspect: ['bus', 'dispatch', 'records', 'statuses', 'consumer', 'protocol', 'telemetry', 'config'],
  ui: ['inspect', 'pauses', 'bus', 'records', 'statuses', 'protocol', 'telemetry', 'config'],
}
const rooms = Object.keys(allowed)
const pairs = rooms.flatMap(from => [...rooms, 'cli'].filter(to => to !== from).map(to => [from, to] as const))
const forbidden = pairs.filter(([from, to]) => !allowed[from]!.includes(to))
const permitted = pairs.filter(([from, to]) => allowed[from]!.includes(to))

const importing = (path: string) => `import { value } from '${path}'\n\nexport const again = value\n`
const importingTypes = (path: string) => `import type { Value } from '${path}'\n\nexport type Again = Value\n`

/** Sources of a project that is linted by the rules of this one. */
const sources: Record<string, string> = {
  ...Object.fromEntries(
    pairs.flatMap(([from, to]) => [
      [`src/${from}/imports-${to}.ts`, importing(`../${to}/some/file.ts`)],
      [`src/${from}/nested/deep/imports-types-of-${to}.ts`, importingTypes(`../../../${to}/file.ts`)],
    ]),
  ),
  ...Object.fromEntries(
    rooms.flatMap(room => [
      [`src/${room}/imports-worker.ts`, importing('../worker.ts')],
      [`src/${room}/imports-index.ts`, importing('../index.ts')],
      [`src/${room}/imports-its-own.ts`, importing('./file.ts')],
    ]),
  ),
  'src/worker.ts': importing('./cli/file.ts'),
  'src/floating.ts': 'async function work(): Promise<void> {}\n\nexport function start(): void {\n  work()\n}\n',
  'src/awaited.ts':
    'async function work(): Promise<void> {}\n\nexport async function start(): Promise<void> {\n  await work()\n}\n',
  'src/cycle/a.ts': "import { b } from './b.ts'\n\nexport const a = () => b\n",
  'src/cycle/b.ts': "import { a } from './a.ts'\n\nexport const b = () => a\n",
}

interface Diagnostic {
  category: string
  severity: string
  message: string
  location: { path: string | { file: string } }
}

let found: { file: string; rule: string; message: string }[] = []
let directory = ''

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'busgate-layers-'))
  for (const [file, source] of Object.entries(sources)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), source)
  }
  writeFileSync(join(directory, 'biome.json'), readFileSync('biome.json'))
  const options = ['--vcs-enabled=false', '--max-diagnostics=none', '--diagnostic-level=error', '--reporter=json']
  const biome = join(process.cwd(), 'node_modules/.bin/biome')
  const failed = await run(biome, ['lint', ...options, '.'], { cwd: directory, maxBuffer: 1 << 26 }).catch(
    (error: { stdout: string }) => error,
  )
  const { diagnostics } = JSON.parse(failed.stdout) as { diagnostics: Diagnostic[] }
  found = diagnostics.map(({ category, message, location: { path } }) => ({
    file: typeof path === 'string' ? path : path.file,
    rule: category,
    message,
  }))
}, 30_000)

afterAll(() => rmSync(directory, { recursive: true, force: true }))

const rulesAgainst = (file: string) => found.filter(diagnostic => diagnostic.file === file).map(({ rule }) => rule)
const restricted = ['lint/style/noRestrictedImports']

describe('imports between the rooms point one way', () => {
  test('every room has its rule', () => {
    const folders = readdirSync('src', { withFileTypes: true }).filter(entry => entry.isDirectory())
    expect(folders.map(({ name }) => name).filter(name => name !== 'cli' && !rooms.includes(name))).toEqual([])
  })

  test.each(forbidden)('%s may not import %s, not even its types', (from, to) => {
    expect(rulesAgainst(`src/${from}/imports-${to}.ts`)).toEqual(restricted)
    expect(rulesAgainst(`src/${from}/nested/deep/imports-types-of-${to}.ts`)).toEqual(restricted)
  })

  test.each(permitted)('%s may import %s', (from, to) => {
    expect(rulesAgainst(`src/${from}/imports-${to}.ts`)).toEqual([])
    expect(rulesAgainst(`src/${from}/nested/deep/imports-types-of-${to}.ts`)).toEqual([])
  })

  test.each(rooms)('%s may import neither the worker nor the whole, but its own files', room => {
    expect(rulesAgainst(`src/${room}/imports-worker.ts`)).toEqual(restricted)
    expect(rulesAgainst(`src/${room}/imports-index.ts`)).toEqual(restricted)
    expect(rulesAgainst(`src/${room}/imports-its-own.ts`)).toEqual([])
  })

  test('the worker may not import the command line', () => {
    expect(rulesAgainst('src/worker.ts')).toEqual(restricted)
  })

  test('no two files import each other', () => {
    expect(rulesAgainst('src/cycle/a.ts')).toEqual(['lint/suspicious/noImportCycles'])
  })
})

test('a promise that nobody waits for is an error, and one that is awaited is none', () => {
  expect(rulesAgainst('src/floating.ts')).toEqual(['lint/nursery/noFloatingPromises'])
  expect(rulesAgainst('src/awaited.ts')).toEqual([])
})

test('the types generated from the schemas are up to date', async () => {
  await expect(run(process.execPath, ['scripts/generate-types.ts', '--check'])).resolves.toMatchObject({ stderr: '' })
})
