import fc from 'fast-check'
import { type CountryCode, getExampleNumber } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { describe, expect, test } from 'vitest'
import { toPhone } from '../../src/producer.ts'
import { problemOfNew } from '../../src/records/new-command.ts'

const message = { sms_message: 'Hello', sms_signature: 'Shop' }
const problemOf = (phone: number) => problemOfNew({ id: 1, phone, type: 'sms', message })

describe('toPhone', () => {
  test.each([
    ['067 123-45-67', 'UA', 380671234567],
    ['(067) 123 45 67', 'UA', 380671234567],
    ['671234567', 'UA', 380671234567],
    ['380671234567', 'UA', 380671234567],
    ['+48 512 345 678', 'UA', 48512345678],
    ['00 48 512 345 678', 'UA', 48512345678],
    ['+380 67 123 45 67', undefined, 380671234567],
    [' 380671234567\n', undefined, 380671234567],
  ] as const)('reads %j with the default country %s', (text, country, phone) => {
    expect(toPhone(text, country)).toBe(phone)
  })

  test.each([
    ['', 'UA'],
    ['no phone', 'UA'],
    ['call 067 123 45 67', 'UA'],
    ['067 123 45 67 or 050 123 45 67', 'UA'],
    ['067 123 45 67 ext. 5', 'UA'],
    ['067 123', 'UA'],
    ['0671234567', undefined],
    ['671234567', undefined],
    ['3.8e11', undefined],
    ['Infinity', undefined],
  ] as const)('finds no phone in %j with the default country %s', (text, country) => {
    expect(toPhone(text, country)).toBeNull()
  })

  test('reads the mobile numbers of every country, however they are written, as a producer takes them', () => {
    for (const country of Object.keys(examples) as CountryCode[]) {
      const number = getExampleNumber(country, examples)!
      const international = [number.number, number.formatInternational(), number.number.slice(1)]
      const phone = Number(number.number.slice(1))
      for (const text of international) expect([text, toPhone(text)]).toEqual([text, phone])
      for (const text of [number.formatNational(), number.nationalNumber, number.number])
        expect([country, text, toPhone(text, country)]).toEqual([country, text, phone])
      expect(problemOf(phone)).toBeNull()
    }
  })

  test('returns null, or what a producer takes, for any text', () => {
    const characters = fc.constantFrom(...'0123456789+-() .,;:eExtA٣\u200b\n'.split(''))
    const text = fc.oneof(fc.string({ unit: characters, maxLength: 30 }), fc.string({ unit: 'binary', maxLength: 30 }))
    const country = fc.constantFrom(undefined, ...(Object.keys(examples) as CountryCode[]))
    fc.assert(
      fc.property(text, country, (some, of) => {
        const phone = toPhone(some, of)
        if (phone !== null) expect(problemOf(phone)).toBeNull()
      }),
      { numRuns: 1000 },
    )
  })

  test.each(['ua', 'XX', 'Ukraine', ''])('refuses the unknown country %j', country => {
    expect(() => toPhone('067 123 45 67', country as never)).toThrow('two capital letters of ISO 3166')
  })
})
