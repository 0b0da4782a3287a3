import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commands } from '../src/cli/commands.ts'
import { definitions } from '../src/config/index.ts'
import { nearest } from '../src/nearest.ts'

const settings = Object.keys(definitions)
const commandNames = Object.keys(commands)

describe('the nearest name', () => {
  test.each([
    ['quiet', 'gateway.quietHours'],
    ['quiet-hours', 'gateway.quietHours'],
    ['quiethours', 'gateway.quietHours'],
    ['Hours.quiet', 'gateway.quietHours'],
    ['gatway.quietHuors', 'gateway.quietHours'],
    ['kafka.broker', 'kafka.brokers'],
    ['gateway.timeout', 'gateway.timeoutMs'],
    ['publicUrl', 'callbacks.publicUrl'],
  ])('of %s is the setting %s', (name, setting) => {
    expect(nearest(name, settings)).toBe(setting)
  })

  test.each([
    ['rnu', 'run'],
    ['explain', 'config explain'],
    ['results tail', 'tail results'],
    ['replay', 'dlq replay'],
    ['balance', 'gateway balance'],
  ])('of %s is the command %s', (name, command) => {
    expect(nearest(name, commandNames)).toBe(command)
  })

  test.each(['worker', 'log', 'start', 'stop', 'up', 'x', '', '-', 'tail everything', 'ж'])(
    'of "%s" is no command',
    name => {
      expect(nearest(name, commandNames)).toBeNull()
    },
  )

  test.each(['gateway.silence', 'kafka.x', 'gateway.foo', 'roles.quiet', 'sms', 'x'.repeat(1_000_000)])(
    'of %.20s is no setting',
    name => {
      expect(nearest(name, settings)).toBeNull()
    },
  )

  test('of a name with one slip in a word of six letters or more is that name, or one as near', () => {
    const words = settings.flatMap(setting =>
      [...setting.matchAll(/[A-Z]?[a-z]{6,}/g)].map(({ index }) => ({ setting, index })),
    )
    const slips = fc.record({
      word: fc.constantFrom(...words),
      at: fc.nat({ max: 4 }),
      slip: fc.constantFrom('drop', 'double', 'swap', 'change'),
    })
    fc.assert(
      fc.property(slips, ({ word: { setting, index }, at, slip }) => {
        const i = index + at
        const [a, b] = [setting[i]!, setting[i + 1]!]
        const slipped = { drop: b, double: a + a + b, swap: b + a, change: `z${b}` }[slip]
        const given = setting.slice(0, i) + slipped + setting.slice(i + 2)
        expect(nearest(given, [setting])).toBe(setting)
        expect(nearest(given, settings)).not.toBeNull()
      }),
    )
  })

  test('has a word for each word of the given name, whatever is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'abdgkqtuwxyz.-') }), name => {
        const found = nearest(name, commandNames)
        if (found === null) return
        const letters = new Set(found)
        for (const word of name.split(/[.-]+/).filter(Boolean)) {
          const strange = [...word].filter(letter => !letters.has(letter)).length
          expect(strange).toBeLessThanOrEqual(Math.ceil(found.length / 3))
        }
      }),
    )
  })
})
