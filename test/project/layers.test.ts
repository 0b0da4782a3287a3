import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

/** The room of a file in src. A file beside the rooms is its own room. */
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

/** The rooms named in a cell; null: all rooms. */
function roomsIn(cell: string): string[] | null {
  if (cell.startsWith('nothing of ours')) return []
  return cell === 'all' ? null : cell.split(', ')
}

/** The folder of a file within its room. A file beside the folders is its own folder. */
const folderOf = (file: string): string => file.split('/').slice(1, 3).join('/')

/** The other rooms that each room imports, including type imports. */
function importsOf(files: readonly string[], placeOf = roomOf): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const file of files) {
    const from = placeOf(file)
    const rooms = found.get(from) ?? new Set()
    found.set(from, rooms)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport\(?) ?'(\.{1,2}\/[^']+)'/g)) {
      const to = placeOf(normalize(join(dirname(file), path!)))
      if (to !== from) rooms.add(to)
    }
  }
  return found
}

/** Finds an import cycle; null: there is none. */
function cycleIn(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
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
const imports = importsOf(sources)

describe('imports between rooms', () => {
  test('the table of rooms names exactly the rooms and the files beside them', () => {
    expect([...allowed.keys()].sort()).toEqual(readdirSync('src').sort())
  })

  test.each([...allowed.keys()])('the room %s imports exactly what the table says', room => {
    const others = [...(imports.get(room) ?? [])].filter(other => !common.has(other)).sort()
    const said = allowed.get(room) ?? others
    expect(others).toEqual([...said].sort())
  })

  test('the files that every room may import import no room', () => {
    expect(common.size).toBeGreaterThan(0)
    for (const file of common) expect([...imports.get(file)!].filter(other => !common.has(other))).toEqual([])
  })

  test('no file imports itself by way of others, not even a type', () => {
    expect(cycleIn(importsOf(sources, file => file))).toBeNull()
  })

  const rooms = [...allowed.keys()].filter(room => !room.endsWith('.ts'))
  test.each(rooms)('folders in %s have no import cycles', room => {
    const inside = sources.filter(file => file.startsWith(`src/${room}/`) && !file.endsWith('/generated.ts'))
    expect(cycleIn(importsOf(inside, folderOf))).toBeNull()
  })

  test("the command line's framework imports no command", () => {
    const framework = sources.filter(file => file.startsWith('src/cli/framework/'))
    const others = framework.filter(file => /'\.\.\/(?!\.\.)/.test(readFileSync(file, 'utf8')))
    expect(framework).not.toEqual([])
    expect(others).toEqual([])
  })
})
