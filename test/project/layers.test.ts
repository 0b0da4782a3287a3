import { execFile } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)

/** The room that a file of src is in; files beside the rooms are rooms of their own. */
const roomOf = (file: string): string => file.split('/')[1]!

/** What each room may import, from the table in docs/design.md. */
const table = readFileSync('docs/design.md', 'utf8')
  .split(/^## /m)
  .find(section => section.startsWith('The rooms'))!
  .split('\n')
  .filter(line => line.startsWith('| `'))
  .flatMap(line => {
    const [, names = '', , imports = ''] = line.split('|').map(cell => cell.trim())
    return [...names.matchAll(/`([\w.-]+)\/?`/g)].map(([, name]) => [name!, imports] as const)
  })

/** Null: all of them. */
function roomsIn(cell: string): string[] | null {
  if (cell.startsWith('nothing of ours')) return []
  return cell === 'all' ? null : cell.split(', ')
}

/** The folder in its room that a file is in; files beside the folders have their own name. */
const folderOf = (file: string): string => file.split('/').slice(1, 3).join('/')

/** Each import from one room of another, the imports of types among them, by the room. */
function importsOf(
  files: readonly string[],
  read: (file: string) => string,
  placeOf = roomOf,
): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const file of files) {
    const from = placeOf(file)
    const rooms = found.get(from) ?? new Set()
    found.set(from, rooms)
    for (const [, path] of read(file).matchAll(/(?:\bfrom|\bimport\(?) ?'(\.{1,2}\/[^']+)'/g)) {
      const to = placeOf(normalize(join(dirname(file), path!)))
      if (to !== from) rooms.add(to)
    }
  }
  return found
}

/** The first circle that is found; null: there is none. */
function circleIn(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const seen = new Set<string>()
  const from = (place: string, way: readonly string[]): string[] | null => {
    if (way.includes(place)) return [...way, place]
    if (seen.has(place)) return null
    seen.add(place)
    for (const next of imports.get(place) ?? []) {
      const circle = from(next, [...way, place])
      if (circle) return circle
    }
    return null
  }
  for (const place of imports.keys()) {
    const circle = from(place, [])
    if (circle) return circle
  }
  return null
}

const allowed = new Map(table.map(([room, cell]) => [room, roomsIn(cell)]))
const common = new Set(table.filter(([, cell]) => cell.endsWith('every room may import them')).map(([file]) => file))

const sources = globSync('src/**/*.ts').filter(file => !file.startsWith('src/ui/page/'))
const imports = importsOf(sources, file => readFileSync(file, 'utf8'))

describe('imports between the rooms point one way', () => {
  test('the table of rooms names every room and every file beside them, and nothing else', () => {
    expect([...allowed.keys()].sort()).toEqual(readdirSync('src').sort())
  })

  test.each([...allowed.keys()])('%s imports what the table says, and needs all of it', room => {
    const others = [...(imports.get(room) ?? [])].filter(other => !common.has(other)).sort()
    const said = allowed.get(room) ?? others
    expect(others).toEqual([...said].sort())
  })

  test('what every room may import imports nothing of ours', () => {
    expect(common.size).toBeGreaterThan(0)
    for (const file of common) expect([...imports.get(file)!].filter(other => !common.has(other))).toEqual([])
  })

  const rooms = [...allowed.keys()].filter(room => !room.endsWith('.ts'))
  test.each(rooms)('what stands in %s, files and folders, does not import each other in a circle', room => {
    const inside = sources.filter(file => file.startsWith(`src/${room}/`) && !file.endsWith('/generated.ts'))
    expect(circleIn(importsOf(inside, file => readFileSync(file, 'utf8'), folderOf))).toBeNull()
  })

  test('a circle of folders is found', () => {
    const texts: Record<string, string> = {
      'src/bus/one/a.ts': "import { b } from '../two/b.ts'",
      'src/bus/two/b.ts': "import type { C } from '../c.ts'",
      'src/bus/c.ts': "import { d } from './one/d.ts'",
    }
    const circle = circleIn(importsOf(Object.keys(texts), file => texts[file]!, folderOf))
    expect(circle).toEqual(['bus/one', 'bus/two', 'bus/c.ts', 'bus/one'])
  })

  test("the command line's framework knows neither a command nor a part of one", () => {
    const framework = sources.filter(file => file.startsWith('src/cli/framework/'))
    const others = framework.filter(file => /'\.\.\/(?!\.\.)/.test(readFileSync(file, 'utf8')))
    expect(framework).not.toEqual([])
    expect(others).toEqual([])
  })

  test('an import of a value, of a type, of a re-export and one that is made later are all seen', () => {
    const texts: Record<string, string> = {
      'src/bus/a.ts': "import { value } from '../cli/some.ts'",
      'src/config/deep/b.ts': "import type { Value } from '../../worker.ts'",
      'src/gateway/c.ts': "export { again } from '../ui/some.ts'",
      'src/records/d.ts': "const load = () => import('../sandbox/index.ts')",
      'src/control/e.ts': "import './own.ts'\nimport '../inspect/effect.ts'",
    }
    const seen = importsOf(Object.keys(texts), file => texts[file]!)
    expect([...seen].map(([from, to]) => `${from}: ${[...to]}`)).toEqual([
      'bus: cli',
      'config: worker.ts',
      'gateway: ui',
      'records: sandbox',
      'control: inspect',
    ])
  })
})

/** Sources of a project that is linted by the rules of this one. */
const linted: Record<string, string> = {
  'src/floating.ts': 'async function work(): Promise<void> {}\n\nexport function start(): void {\n  work()\n}\n',
  'src/awaited.ts':
    'async function work(): Promise<void> {}\n\nexport async function start(): Promise<void> {\n  await work()\n}\n',
  'src/cycle/a.ts': "import { b } from './b.ts'\n\nexport const a = () => b\n",
  'src/cycle/b.ts': "import { a } from './a.ts'\n\nexport const b = () => a\n",
}

interface Diagnostic {
  category: string
  location: { path: string | { file: string } }
}

describe('the linter refuses', () => {
  let found: { file: string; rule: string }[] = []
  let directory = ''

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'busgate-layers-'))
    for (const [file, source] of Object.entries(linted)) {
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
    found = diagnostics.map(({ category, location: { path } }) => ({
      file: typeof path === 'string' ? path : path.file,
      rule: category,
    }))
  }, 30_000)

  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  const rulesAgainst = (file: string) => found.filter(diagnostic => diagnostic.file === file).map(({ rule }) => rule)

  test('two files that import each other', () => {
    expect(rulesAgainst('src/cycle/a.ts')).toEqual(['lint/suspicious/noImportCycles'])
  })

  test('a promise that nobody waits for, and not one that is awaited', () => {
    expect(rulesAgainst('src/floating.ts')).toEqual(['lint/nursery/noFloatingPromises'])
    expect(rulesAgainst('src/awaited.ts')).toEqual([])
  })
})
