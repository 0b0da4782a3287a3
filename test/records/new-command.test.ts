import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseQuietly } from '../../src/protocol/json.ts'
import { countryOf } from '../../src/records/country.ts'
import { problemOfNew } from '../../src/records/new-command.ts'

const command = { id: 1n, phone: 380501234567n, type: 'sms', message: { sms_message: 'Hi', sms_signature: 'Shop' } }
const problemOf = (fields: object) => problemOfNew({ ...command, ...fields })

const anyNumber = fc.oneof(
  fc.double(),
  fc.maxSafeInteger(),
  fc.bigInt({ min: -(10n ** 320n), max: 10n ** 320n }),
  fc.nat(330).map(zeros => 10n ** BigInt(zeros)),
  fc.nat(308).map(zeros => 10 ** zeros),
)

test('a new command with any number as phone is accepted or refused at once, and refused if it has not 7 to 15 digits', () => {
  fc.assert(
    fc.property(anyNumber, phone => {
      const problem = problemOf({ phone })
      if (problem === null) expect(String(phone)).toMatch(/^[1-9]\d{6,14}$/)
      else expect(problem).toMatch(/^phone must be a number: digits only, in international format/)
      expect(countryOf(Number(phone))).toSatisfy(country => country === null || /^[A-Z]{2}$/.test(country as string))
    }),
    { numRuns: 2000, examples: [[Number.POSITIVE_INFINITY], [10n ** 310n], [Number.NaN], [-1]] },
  )
})

test.each([671234567, 991234567, 2101234567n])(
  'a new command to %s, which no country code begins, is refused',
  phone => {
    expect(problemOf({ phone })).toMatch(/country code/)
  },
)

test.each([380501234567, 12125551234n, 883510000123])('a new command to %s is accepted', phone => {
  expect(problemOf({ phone })).toBeNull()
})

const hour = 3_600_000
const instant = fc.integer({ min: hour, max: 9 * 365 * 24 * hour }).map(ahead => Date.now() + ahead)

test('a deadline to come is accepted, as a Date or milliseconds; one in any other unit, or past, is refused', () => {
  fc.assert(
    fc.property(instant, deadline => {
      expect(problemOf({ deadline })).toBeNull()
      expect(problemOf({ deadline: new Date(deadline) })).toBeNull()
      const past = [Date.now() - hour, new Date(0), new Date(Number.NaN)]
      for (const other of [deadline / 1000, Math.floor(deadline / 1000), deadline * 1000, deadline * 1e6, ...past]) {
        expect(problemOf({ deadline: other })).toMatch(
          /^deadline must be a valid Date or a whole number of milliseconds since 1970/,
        )
      }
    }),
  )
})

const text = { fits: ['', 'shop'], not: [null, 7, ['shop']] }
const textOrNull = { fits: [null, ...text.fits], not: [7, ['shop'], {}] }

test.each<[string, { fits: unknown[]; not: unknown[] }]>([
  ['id', { fits: [1, 7n, 2n ** 63n - 1n], not: [0, -1, 1.5, 2n ** 63n, '7', null] }],
  ['type', { fits: ['sms'], not: ['pigeon', 7, null, 'whatsapp'] }],
  ['message', { fits: [{}, command.message], not: ['Hi', null, []] }],
  ['lane', { fits: ['bulk', 0, 1], not: [0.5, null, ['bulk'], {}] }],
  ['account', text],
  ['delivery', { fits: ['DEFAULT', 'AT_MOST_ONCE', 'AT_LEAST_ONCE'], not: ['TWICE', 'at_most_once', null, 1] }],
  ['hook', textOrNull],
  ['correlationId', textOrNull],
  ['tenant', textOrNull],
  ['campaign', textOrNull],
  ['extra', { fits: [{}, { ttl: '5' }], not: ['x', null, []] }],
  ['deadline', { fits: [null], not: ['2030-01-01', true] }],
  ['notBefore', { fits: [null, new Date(), Date.now() - hour], not: ['2030-01-01', true, Date.now() / 1000] }],
])('a new command is refused by the name of its %s unless that is of the documented kind', (field, { fits, not }) => {
  for (const value of fits) expect(problemOf({ [field]: value })).toBeNull()
  for (const value of not) expect(problemOf({ [field]: value })).toMatch(new RegExp(`^${field} must be `))
})

test('a new command is refused for a field that it lacks, or that no command has', () => {
  for (const field of ['id', 'phone', 'type', 'message'])
    expect(problemOf({ [field]: undefined })).toMatch(new RegExp(`^${field} is required and must be `))
  for (const field of ['lane', 'tenant', 'extra', 'deadline', 'notBefore'])
    expect(problemOf({ [field]: undefined })).toBeNull()
  expect(problemOf({ tenat: 'x' })).toMatch(/^tenat is no field of a command.*tenant/)
  expect(problemOf({ extra: { ttl: 5 } })).toMatch(/^extra\.ttl must be JSON in a string/)
  for (const none of [null, undefined, 'sms', []]) expect(problemOfNew(none)).toBe('a command must be an object')
})

test('a field that the message does not have is named with its place, however deep it is', () => {
  const viber = (viber_carousel: unknown) => problemOf({ type: 'viber', message: { viber_carousel } })
  for (const other of [null, 'ab', 5, ['ab', null, 5], [['ab']]]) expect(viber(other)).toBeNull() // found by readCommand
  expect(viber([{ caption: 'Red' }, 'ab', { captoin: 'Blue' }])).toMatch(
    /^viber_carousel\[2\]\.captoin is no field of viber's viber_carousel; .*caption.*, and extra takes any other$/,
  )
  expect(problemOf({ message: { sms_mesage: 'Hi' } })).toMatch(/^sms_mesage is no field of sms; .*sms_message/)
  expect(problemOf({ type: 'pipeline', message: { sms: { mesage: 'Hi' } } })).toMatch(
    /^sms\.mesage is no field of pipeline's sms; .*message/,
  )
  expect(problemOf({ message: { 'io.busgate.Sms': {} } })).toBe(
    'message must be the fields of sms: leave the tag io.busgate.Sms out here',
  )
})

test.each(['call/otp', 'hlr'])('the comment of a new %s must be a text, though the gateway does not get it', type => {
  const commented = (comment: unknown) => problemOf({ type, message: { comment } })
  for (const comment of ['for the invoice', null, undefined]) expect(commented(comment)).toBeNull()
  for (const comment of [7, ['x'], {}]) expect(commented(comment)).toMatch(/^comment must be /)
})

test('send refuses an id or a phone with an exponent or a point, in every spelling', () => {
  const spelling = fc
    .record({
      digits: fc.integer({ min: 1, max: 999_999_999 }),
      cut: fc.nat(8),
      sign: fc.constantFrom('e', 'E', 'e+', 'E+'),
    })
    .map(({ digits, cut, sign }) => {
      const [text, point] = [String(digits), Math.max(1, cut)]
      return `${text.slice(0, point)}.${text.slice(point) || '0'}${sign}11`
    })
  const read = (id: string, phone: string) =>
    parseQuietly(`{"id":${id},"phone":${phone},"type":"sms","message":{"sms_message":"Hi"}}`, 'not valid JSON')
  fc.assert(
    fc.property(fc.oneof(spelling, fc.constantFrom('380501234567.0', '1e1', '380501234567e0')), number => {
      expect(problemOfNew(read('1', number))).toMatch(/^phone must be a number: digits only/)
      expect(problemOfNew(read(number, '380501234567'))).toMatch(/^id must be a whole number/)
    }),
    { examples: [['3.80501E+11']] },
  )
  expect(read('9007199254740993', '380501234567')).toMatchObject({ id: 9007199254740993n })
})
