import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readSealingKeys } from '../../src/config/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { type Opening, open } from '../../src/records/open-sealed.ts'
import { sealedIn, withContent } from '../../src/records/sealed.ts'
import { buildCommand } from '../support/commands.ts'
import { type Jwk, seal, sealingKey } from '../support/sealing.ts'

const keys = [sealingKey('k1'), sealingKey('k2', 'P-256'), sealingKey('k3', 'secret')]
const own = readSealingKeys({ keys: keys.map(key => key.own) }, 'open')
const content = { sms_message: 'Your code is 0427-zebra', sms_signature: 'Shop' }

const subjects = fc.record({
  id: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }),
  phone: fc.integer({ min: 1_000_000, max: 999_999_999_999_999 }),
  account: fc.constantFrom('default', 'other'),
  hook: fc.constantFrom(null, 'https://a.example', 'https://b.example'),
})
type Subject = Pick<SendCommand, 'id' | 'phone' | 'account' | 'hook'>

const commandOf = (subject: Subject) => withContent(buildCommand(subject), 'sms', content)

const opened = (subject: Subject, jwe: string, type = 'sms'): Promise<Opening> =>
  open(commandOf(subject), { type, jwe }, kid => own.find(key => key.kid === kid))

const jweOf = async (subject: Subject, key: Jwk) => sealedIn(await seal(commandOf(subject), key))!.jwe

test('whatever its key, sealed content opens for its own command, and for no other', async () => {
  const key = fc.constantFrom(...keys.map(({ shared }) => shared))
  const property = fc.asyncProperty(subjects, subjects, key, async (one, other, key) => {
    const jwe = await jweOf(one, key)
    expect(await opened(one, jwe)).toEqual({ command: commandOf(one) })
    for (const name of ['id', 'phone', 'account', 'hook'] as const) {
      const moved = { ...one, [name]: other[name] }
      if (other[name] !== one[name]) expect(await opened(moved, jwe)).toMatchObject({ errorCode: 'SEAL' })
    }
    expect(await opened(one, jwe, 'viber+sms')).toMatchObject({ errorCode: 'SEAL' })
  })
  await fc.assert(property, { numRuns: 50 })
})

test('no change of a single character opens anything else, and no error repeats the content', async () => {
  const subject = { id: 1n, phone: 380501234567, account: 'default', hook: null }
  const jwes = await Promise.all(keys.map(({ shared }) => jweOf(subject, shared)))
  const change = fc.record({
    jwe: fc.constantFrom(...jwes),
    at: fc.nat(),
    by: fc.constantFrom('', 'A', '-', '.', '=', '/', 'é'),
    removes: fc.nat({ max: 2 }),
  })
  const property = fc.asyncProperty(change, async ({ jwe, at, by, removes }) => {
    const start = at % jwe.length
    const opening = await opened(subject, jwe.slice(0, start) + by + jwe.slice(start + removes))
    // the last bits of a part may mean nothing, and a kid may become another
    if ('command' in opening) expect(opening.command).toEqual(commandOf(subject))
    else if ('error' in opening) expect(opening.error).not.toMatch(/zebra|0427|Your/)
  })
  await fc.assert(property, { numRuns: 500 })
})

test('any JSON in it is a command with the fields of its type, or an error without its characters', async () => {
  const fields = fc.constantFrom(
    'sms_message',
    'sms_signature',
    'sms_lifetime',
    'short_link',
    'phone',
    'zebra',
    '__proto__',
  )
  const zebra = fc.constantFrom<unknown>('zebra', null, 1, 1.5, true, ['zebra'], { zebra: 'zebra' }, '\ud83d')
  const property = fc.asyncProperty(fc.array(fc.tuple(fields, zebra)), async entries => {
    const text = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`
    const subject = { id: 1n, phone: 380501234567, account: 'default', hook: null }
    const command = withContent(buildCommand(subject), 'sms', { toJSON: () => JSON.parse(text) })
    const opening = await opened(subject, sealedIn(await seal(command, keys[2]!.shared))!.jwe)
    if ('error' in opening) expect(opening.error).not.toContain('zebra')
    else if ('command' in opening) {
      const [read] = Object.values(opening.command.message)
      expect(Object.keys(read as object).filter(name => !/^(sms_|short_link)/.test(name))).toEqual([])
      expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
    }
  })
  await fc.assert(property, { numRuns: 500 })
})
