import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partsOf } from '../../src/protocol/index.ts'

const gsm7 = (characters: number, parts: number) => ({ encoding: 'GSM-7', characters, parts, first: null })
const ucs2 = (characters: number, parts: number) => expect.objectContaining({ encoding: 'UCS-2', characters, parts })

/** 3GPP TS 23.038, 6.2.1, from 0x00 to 0x7f, without the escape 0x1b; and 6.2.1.1. */
const basicTable =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
const extensionTable = '\f^{}\\[~]|€'

describe('a text in the GSM 03.38 alphabet', () => {
  test.each([
    [0, 1],
    [1, 1],
    [160, 1],
    [161, 2],
    [306, 2],
    [307, 3],
    [459, 3],
    [460, 4],
  ])('of %d characters takes %d parts', (length, parts) => {
    expect(partsOf('a'.repeat(length))).toEqual(gsm7(length, parts))
  })

  test('may contain every character of the basic table (3GPP TS 23.038, 6.2.1)', () => {
    expect([...basicTable]).toHaveLength(127) // 128 places, one of them the escape
    expect(partsOf(basicTable)).toEqual(gsm7(127, 1))
  })

  test.each([...extensionTable])('counts %j of the extension table (6.2.1.1) twice', character => {
    expect(partsOf(character)).toEqual(gsm7(2, 1))
    expect(partsOf(character.repeat(80))).toEqual(gsm7(160, 1))
    expect(partsOf(character.repeat(81))).toEqual(gsm7(162, 2))
  })

  test('takes one more part if an escape sequence does not fit at the end of a part (phlib/sms-length#1)', () => {
    const fox = 'The quick brown fox jumps over the lazy dog. '
    const text = `${fox.repeat(3)}The quick brown f[x jumps over the lazy dog. ${fox.repeat(2)}The quick brown fox jumps over the.`
    expect(partsOf(text.replace('[', 'o'))).toEqual(gsm7(305, 2))
    expect(partsOf(text)).toEqual(gsm7(306, 3))
  })
})

describe('any other text', () => {
  test.each(['я', 'ç', '`', '\t', '’', '\x1b', 'Ђ', '€я', '😘'])('is UCS-2: %j', text => {
    expect(partsOf(text)).toEqual(ucs2(text.length, 1))
  })

  test.each([
    [70, 1],
    [71, 2],
    [134, 2],
    [135, 3],
    [201, 3],
    [202, 4],
  ])('of %d characters takes %d parts', (length, parts) => {
    expect(partsOf('я'.repeat(length))).toEqual(ucs2(length, parts))
  })

  test('never divides a surrogate pair', () => {
    expect(partsOf(`${'я'.repeat(66)}😘${'я'.repeat(66)}`)).toEqual(ucs2(134, 3))
    expect(partsOf(`${'я'.repeat(65)}😘${'я'.repeat(67)}`)).toEqual(ucs2(134, 2))
  })

  test('may divide combining characters', () => {
    expect(partsOf(`e${'\u0301'.repeat(133)}`)).toEqual(ucs2(134, 2))
  })
})

test.each([
  ['Ваш код 1234', 0x412, 1],
  ['It’s ready', 0x2019, 3],
  ['[€] Ready 😘 я', 0x1f618, 11],
  ['ready\u00a0', 0xa0, 6],
])('the first character of %j outside GSM-7 is named by code point and place', (text, codePoint, place) => {
  expect(partsOf(text).first).toEqual({ codePoint, place })
  expect([...text][place - 1]!.codePointAt(0)).toBe(codePoint)
})

/**
 * Writes a text into parts as a phone does: the code units of one character after the other, each into the part where it
 * fits whole.
 */
function written(text: string) {
  const characters = [...text]
  const outside = characters.findIndex(one => !basicTable.includes(one) && !extensionTable.includes(one))
  const isGsm7 = outside < 0
  const unitsOf = (one: string) => (isGsm7 ? (extensionTable.includes(one) ? 2 : 1) : one.length)
  const [single, joined] = isGsm7 ? [160, 153] : [70, 67]
  const total = characters.reduce((sum, one) => sum + unitsOf(one), 0)
  const fills = [0]
  for (const one of total <= single! ? [] : characters) {
    if (fills.at(-1)! + unitsOf(one) > joined!) fills.push(0)
    fills[fills.length - 1]! += unitsOf(one)
  }
  const first = isGsm7 ? null : { codePoint: characters[outside]!.codePointAt(0), place: outside + 1 }
  return { encoding: isGsm7 ? 'GSM-7' : 'UCS-2', characters: total, parts: fills.length, first }
}

const inGsm7 = fc.constantFrom(...basicTable, ...extensionTable)
const anyCharacter = fc.oneof(
  inGsm7,
  fc.constantFrom('😘', 'я', '’', 'ç', '`'),
  fc.string({ unit: 'binary', maxLength: 1 }),
)
/** Lengths about the borders of parts: long runs of one character between others. */
const run = (character: fc.Arbitrary<string>) =>
  fc
    .tuple(character, fc.oneof(fc.constantFrom(1, 66, 67, 69, 70, 152, 153, 159, 160), fc.nat(170)))
    .map(([one, n]) => one.repeat(n))
const textOf = (character: fc.Arbitrary<string>) =>
  fc.array(fc.oneof(character, run(character)), { maxLength: 12 }).map(parts => parts.join(''))

test('every text has the parts, the encoding and the first character outside GSM-7 of a phone that writes it', () => {
  fc.assert(
    fc.property(fc.oneof(textOf(inGsm7), textOf(anyCharacter)), text => {
      expect(partsOf(text)).toEqual(written(text))
    }),
    { numRuns: 3000 },
  )
})

test('every character up to U+FFFF is in GSM-7 if it is in a table of the standard, and only then', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const one = String.fromCharCode(code)
    const isGsm7 = basicTable.includes(one) || extensionTable.includes(one)
    expect([code, partsOf(one).encoding]).toEqual([code, isGsm7 ? 'GSM-7' : 'UCS-2'])
  }
})
