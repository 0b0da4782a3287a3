import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const sources = globSync('src/**/*.ts').filter(file => !file.endsWith('/generated.ts'))
const textOf = (file: string) => readFileSync(file, 'utf8')

/** Whoever names a type that no word of the language is, names types one by one. */
const naming = /'(?:viber\+sms|rcs\+sms|rcs\+viber\+sms|call\/otp)'/

test('types of messages are named where they are defined, and where each needs something of its own', () => {
  const files = sources.filter(file => naming.test(textOf(file)))
  expect(files.filter(file => !file.startsWith('src/protocol/operations/')).sort()).toEqual([
    'src/cli/demo/messages.ts', // what the demo sends of each
    'src/cli/demo/scenario.ts', // how much of which
    'src/gateway/client.ts', // a method for each
    'src/protocol/operation.ts', // the specification's list
    'src/protocol/registry.ts',
    'src/sandbox/endings.ts', // phones that one type is refused to
  ])
})

interface Declaration {
  name: string
  exported: boolean
  file: string
}

const declarationsIn = (file: string, pattern: RegExp): Declaration[] =>
  [...textOf(file).matchAll(pattern)].map(([, exported, name]) => ({
    name: name!,
    exported: exported !== undefined,
    file,
  }))

/** Finds what the pattern finds in several files, one of which exports it. */
function namedTwice(files: readonly string[], pattern: RegExp): string[] {
  const byName = Map.groupBy(
    files.flatMap(file => declarationsIn(file, pattern)),
    ({ name }) => name,
  )
  return [...byName]
    .filter(([, all]) => new Set(all.map(({ file }) => file)).size > 1 && all.some(({ exported }) => exported))
    .map(([name, all]) => `${name}: ${all.map(({ file }) => file).join(', ')}`)
}

test('no type that a file exports shares its name with a type of another file', () => {
  const types = /^(export )?(?:declare )?(?:abstract )?(?:type|interface|class) (\w+)/gm
  expect(declarationsIn('src/bus/port.ts', types)).toContainEqual({
    name: 'Bus',
    exported: true,
    file: 'src/bus/port.ts',
  })
  expect(namedTwice(sources, types)).toEqual([])
})

/** Named after what they are about, and read in one place each: commands and checks by their list, kinds as `kind.text`. */
const named = ['src/cli/commands/', 'src/cli/doctor/', 'src/config/kinds.ts']

test('no value that a file exports shares its name with one that another file exports', () => {
  const values = /^(export )(?:async )?(?:function\*?|const) (\w+)/gm
  const files = sources.filter(file => !named.some(start => file.startsWith(start)))
  expect(namedTwice(files, values)).toEqual([])
})
