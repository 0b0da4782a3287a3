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
