import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { segmentsOf } from '../../src/protocol/index.ts'

const gsm7 = (characters: number, parts: number) => ({ encoding: 'GSM-7', characters, parts })
const ucs2 = (characters: number, parts: number) => ({ encoding: 'UCS-2', characters, parts })

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
    expect(segmentsOf('a'.repeat(length))).toEqual(gsm7(length, parts))
  })

  test('may contain every character of the basic table (3GPP TS 23.038, 6.2.1)', () => {
    const basic =
      '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
      '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
    expect([...basic]).toHaveLength(127) // 128 places, one of them the escape
    expect(segmentsOf(basic)).toEqual(gsm7(127, 1))
  })

  test.each([...'\f^{}\\[~]|€'])('counts %j of the extension table (6.2.1.1) twice', character => {
    expect(segmentsOf(character)).toEqual(gsm7(2, 1))
    expect(segmentsOf(character.repeat(80))).toEqual(gsm7(160, 1))
    expect(segmentsOf(character.repeat(81))).toEqual(gsm7(162, 2))
  })

  test('takes one more part if an escape sequence does not fit at the end of a part (phlib/sms-length#1)', () => {
    const fox = 'The quick brown fox jumps over the lazy dog. '
    const text = `${fox.repeat(3)}The quick brown f[x jumps over the lazy dog. ${fox.repeat(2)}The quick brown fox jumps over the.`
    expect(segmentsOf(text.replace('[', 'o'))).toEqual(gsm7(305, 2))
    expect(segmentsOf(text)).toEqual(gsm7(306, 3))
  })
})

describe('any other text', () => {
  test.each(['я', 'ç', '`', '\t', '’', '\x1b', 'Ђ', '€я', '😘'])('is UCS-2: %j', text => {
    expect(segmentsOf(text)).toEqual(ucs2(text.length, 1))
  })

  test.each([
    [70, 1],
    [71, 2],
    [134, 2],
    [135, 3],
    [201, 3],
    [202, 4],
  ])('of %d characters takes %d parts', (length, parts) => {
    expect(segmentsOf('я'.repeat(length))).toEqual(ucs2(length, parts))
  })

  test('never divides a surrogate pair', () => {
    expect(segmentsOf(`${'я'.repeat(66)}😘${'я'.repeat(66)}`)).toEqual(ucs2(134, 3))
    expect(segmentsOf(`${'я'.repeat(65)}😘${'я'.repeat(67)}`)).toEqual(ucs2(134, 2))
  })

  test('may divide combining characters', () => {
    expect(segmentsOf(`e${'\u0301'.repeat(133)}`)).toEqual(ucs2(134, 2))
  })
})

/** Counts the parts by filling one after the other, character by character. */
function fill(costs: number[], single: number, joined: number): number {
  const total = costs.reduce((sum, cost) => sum + cost, 0)
  if (total <= single) return 1
  let parts = 1
  let left = joined
  for (const cost of costs) {
    if (cost > left) {
      parts++
      left = joined
    }
    left -= cost
  }
  return parts
}

test('the number of parts equals that of filling one part after the other', () => {
  const texts = fc.array(fc.constantFrom('a', 'a', 'a', '[', '€', '😘', 'я'), { maxLength: 400 })
  fc.assert(
    fc.property(texts, characters => {
      const { encoding, parts } = segmentsOf(characters.join(''))
      const costOf = (c: string) => (encoding === 'GSM-7' ? ('[€'.includes(c) ? 2 : 1) : c.length)
      const [single, joined] = encoding === 'GSM-7' ? [160, 153] : [70, 67]
      expect(parts).toBe(fill(characters.map(costOf), single!, joined!))
    }),
    { numRuns: 500 },
  )
})
