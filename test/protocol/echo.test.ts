import fc from 'fast-check'
import { expect, test } from 'vitest'
import { envelopeBody } from '../../src/gateway/connection.ts'
import { Echo } from '../../src/protocol/echo.ts'
import { stringifyJson } from '../../src/protocol/index.ts'

const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
const utf16 = (text: string) =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
const inPhpJson = (text: string) =>
  inJson(text)
    .replaceAll('/', '\\/')
    .replaceAll(/[^ -~]/g, utf16)
const inHtml = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#039;')

/** How a gateway may repeat a text. */
const spellings: Record<string, (text: string) => string> = {
  'as it was sent': text => text,
  'in JSON': inJson,
  "in PHP's JSON": inPhpJson,
  'in JSON in JSON': text => inJson(inPhpJson(text)),
  'in an address': encodeURIComponent,
  'in an address, in lower case': text => encodeURIComponent(text).replaceAll(/%../g, code => code.toLowerCase()),
  'in a form': text => new URLSearchParams({ text }).toString().slice('text='.length),
  'in HTML': inHtml,
  'in JSON in HTML': text => inHtml(inJson(text)),
}

/** Characters that a text may consist of; only those whose escapes differ by kind are listed one by one. */
const character = fc.oneof(
  fc.constantFrom(...'abcxyzABCXYZ0123456789 "\\\'/%&<>+=\n\t'),
  fc.constantFrom(...'їґЩёßéñ漢字', '😀', '👩‍👩‍👧'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
)
/** Whether there is something to read, besides escapes of blanks. */
const isText = (text: string) => /[\p{L}\p{N}]{2}/u.test(text.replaceAll(/%..|\\.{1,5}|&[^;]*;/gs, ' '))
const content = fc.string({ unit: character, minLength: 2, maxLength: 60 }).filter(isText)
const key = fc.stringMatching(/^[A-Za-z0-9_\-+/=.]{10,40}$/).filter(isText)

const request = fc.record({
  key,
  phone: fc.integer({ min: 1_000_000, max: 999_999_999_999_999 }),
  contents: fc.array(content, { minLength: 1, maxLength: 4 }),
})

const envelopeOf = ({ key, phone, contents }: { key: string; phone: number; contents: string[] }) =>
  envelopeBody(
    key,
    contents.map((text, i) =>
      stringifyJson({ type: 'sms', id: i + 1, phone, sms_message: text, sms_signature: 'Shop' }),
    ),
  )

test.each(Object.entries(spellings))('no error text repeats key, phone or text %s', (_, spell) => {
  fc.assert(
    fc.property(request, fc.constantFrom(' ', '"', '{', ': ', '\n'), (sent, gap) => {
      const echo = Echo.of(envelopeOf(sent))
      for (const secret of [sent.key, String(sent.phone), ...sent.contents]) {
        if ('Rejected *** by rule 7'.includes(secret.trim())) continue
        const text = echo.text(`Rejected${gap}${spell(secret)}${gap}by rule 7`)
        expect(text).not.toContain(spell(secret))
        expect(text).not.toContain(spell(secret.trim()))
        expect(text).toMatch(/^Rejected/)
      }
    }),
    { numRuns: 300 },
  )
})

test.each(Object.entries(spellings))('no error text repeats the whole request %s', (_, spell) => {
  fc.assert(
    fc.property(request, sent => {
      const body = envelopeOf(sent)
      const text = Echo.of(body).text(`Cannot read ${spell(body)}`)
      for (const secret of [sent.key, String(sent.phone), ...sent.contents.filter(({ length }) => length > 3)]) {
        expect(text).not.toContain(spell(inJson(secret)))
      }
    }),
    { numRuns: 100 },
  )
})

test('no error text repeats a part of a text, or a phone as people write it', () => {
  const text = 'Доброго дня, Олено! Your code for Shop is 481-516, never tell it anybody.'
  const echo = Echo.of(envelopeOf({ key: 'k3y-that-nobody-may-see', phone: 380671112233, contents: [text] }))
  for (let end = 14; end <= text.length; end++) {
    const told = echo.text(`Message "${text.slice(0, end)}..." is refused`)
    expect(told).toMatch(/^Message "\*\*\*[ .,!:"is-]* refused$/)
  }
  for (const phone of ['+380 67 111-22-33', '0671112233', '(067) 111 22 33', '380671112233']) {
    expect(echo.text(`No route to ${phone}!`)).toMatch(/^No route to [+(]?\*\*\*!$/)
  }
})

test('an error text that repeats nothing stays as it is, and its words remain around an echo', () => {
  const echo = Echo.of(envelopeOf({ key: 'a-key-of-the-gateway', phone: 380671112233, contents: ['Hi', '4711', 'a'] }))
  for (const text of ['Sender Shop is not registered', 'This is not 14711, Hint: sms_message', 'Помилка 17']) {
    expect(echo.text(text)).toBe(text)
  }
  expect(echo.text('Code 4711 to 380671112233 was refused: "Hi"')).toBe('Code *** to *** was refused: "***"')
})

test('a value loses what it repeats in its texts, numbers and names, at any depth', () => {
  const echo = Echo.of(
    envelopeOf({ key: 'k3y-that-nobody-may-see', phone: 380671112233, contents: ['Your parcel is here'] }),
  )
  const answer = {
    cost: 0.25,
    to: 380671112233,
    of: [{ '380671112233': { text: 'Your parcel is here' } }],
    ok: true,
    none: null,
  }
  expect(echo.value(answer)).toEqual({ cost: 0.25, to: '***', of: [{ '***': { text: '***' } }], ok: true, none: null })
})

test('an identifier stays as it is, except for a key in it', () => {
  const echo = Echo.of(envelopeOf({ key: 'a-"key"', phone: 380671112233, contents: ['Your order 20261129-0001'] }))
  expect(['380671112233', '20261129-0001', 'a-"key"-1', null].map(echo.id)).toEqual([
    '380671112233',
    '20261129-0001',
    '***-1',
    null,
  ])
})

test('a long answer to a long request is cleaned at once, and one to a huge request is withheld', () => {
  const text = 'х'.repeat(200_000)
  const echo = Echo.of(
    envelopeOf({ key: 'a-key-of-the-gateway', phone: 380671112233, contents: [text, '%25'.repeat(20_000)] }),
  )
  expect(echo.text(`${text}${'%25'.repeat(1e6)}`)).toBe('***')
  expect(echo.value({ text: `<${text}>` })).toEqual({ text: '<***>' })
  expect(
    Echo.of(envelopeOf({ key: 'a-key', phone: 380671112233, contents: ['x'.repeat(2 ** 20)] })).text('Refused'),
  ).toBe('***')
})
