import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shellFlag, shellWord } from '../src/shell.ts'

/** The page's own, which has no types for others. */
const page = '../src/ui/page/commands.js'
const { splitAtCommands }: { splitAtCommands(text: string): string[] } = await import(page)

/** What a shell passes to a command, each argument ended by NUL. */
function argumentsIn(line: string): string[] {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.split('\0').slice(0, -1)
}

const hostile = fc.constantFrom(
  ...[
    '$(touch x)',
    '`id`',
    "'; id; '",
    '"',
    '\\',
    '!!',
    '~',
    '*',
    '#',
    '-n',
    '--',
    '\u0003',
    '\n',
    '\r',
    '\u001b[2J',
    '\u202e',
    '$HOME',
    '',
    ' ',
    '%s',
    '\\047',
  ],
)
const value = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.oneof(hostile, fc.string()), { maxLength: 4 }).map(parts => parts.join('')),
  )
  .map(text => text.replaceAll('\0', ''))
/** No command substitution can keep newlines at its end. */
const kept = (text: string) => text.replace(/\n+$/, '')

test('a shell reads any value in a printed command as that value', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 30 }), values => {
      expect(argumentsIn(values.map(shellWord).join(' '))).toEqual(values.map(kept))
      const args = argumentsIn(values.map(one => shellFlag('account', one)).join(' '))
      const options = { account: { type: 'string', multiple: true } } as const
      expect(parseArgs({ args, options }).values.account).toEqual(values.map(kept))
    }),
    { numRuns: 100 },
  )
})

test('a printed command has no character that acts on a terminal', () => {
  fc.assert(
    fc.property(value, text => {
      expect(shellWord(text)).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
    }),
  )
})

test('usual names stay as they are', () => {
  const usual = ['shop-a', 'busgate.commands', 'commands/3/17', 'me@example.com', '42']
  expect(usual.map(shellWord)).toEqual(usual)
})

test('the page copies a command with its whole values, and no more of the sentence', () => {
  fc.assert(
    fc.property(value, account => {
      const command = `busgate gateway status '{"id":7}' --account=${shellWord(account)}`
      expect(splitAtCommands(`Ask the gateway: ${command}; any status proves it.`)[1]).toBe(command)
      expect(splitAtCommands(`Ask: ${command}.`)[1]).toBe(command)
    }),
  )
})

test('a command in foreign text that the page lets copy runs nothing but busgate', () => {
  const piece = fc.oneof(
    value,
    fc.constantFrom(
      'busgate dlq replay ',
      'busgate message 7 ',
      '--all',
      '--topic=',
      "'",
      '"$(printf \'',
      '\')"',
      '$(id)',
      ';id',
      '1',
    ),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), pieces => {
      const copied = splitAtCommands(pieces.join('')).filter((_, index) => index % 2 === 1)
      for (const command of copied) argumentsIn(command)
      expect(copied.join('')).not.toMatch(/\p{Cc}/u)
      expect(copied.every(command => command.startsWith('busgate '))).toBe(true)
    }),
    { numRuns: 300 },
  )
})
