import fc from 'fast-check'
import { parsePhoneNumberFromString } from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'
import { expect, test } from 'vitest'
import { countryOf } from '../../src/records/country.ts'
import { countryCodes } from '../../src/vocabulary/countries.ts'

test.each([
  [380671234567, 'UA'],
  [48501234567, 'PL'],
  [12125551234, 'US'],
  [14165551234, 'CA'],
  [12425551234, 'BS'],
  [79161234567, 'RU'],
  [77011234567, 'KZ'],
  [447400123456, 'GB'],
  [447781123456, 'GG'],
  [447624312345, 'IM'],
  [390669812345, 'VA'],
  [611832135432, 'AU'],
  [883510000123, null],
  [999123456789, null],
  [0, null],
  [2 ** 60, null],
])('the number %d is of the country %s', (phone, country) => {
  expect(countryOf(phone)).toBe(country)
})

const shared = Object.entries(metadata.country_calling_codes).filter(([, countries]) => countries.length > 1)

test('a number with a shared calling code has the country that libphonenumber names', () => {
  expect(shared.map(([code]) => code)).toEqual(expect.arrayContaining(['1', '7', '44']))
  const codes = fc.constantFrom(...shared.map(([code]) => code))
  const national = fc.bigInt({ min: 10n ** 8n, max: 10n ** 10n - 1n })
  fc.assert(
    fc.property(codes, national, (code, number) => {
      const phone = `${code}${number}`
      expect(countryOf(Number(phone))).toBe(parsePhoneNumberFromString(`+${phone}`, metadata)?.country ?? null)
    }),
    { numRuns: 5000 },
  )
})

test('the settings know exactly the countries that a number can be of', () => {
  expect(countryCodes).toEqual(Object.keys(metadata.countries).sort())
})
