import fc from 'fast-check'

/** Names that every object has, or that code may look for. */
const namesOfObjects = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'length',
  '',
]

/** Any text, with what foreign programs write by mistake or on purpose. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ maxLength: 30 }),
  fc.constantFrom(...namesOfObjects),
  fc.constantFrom(
    '\u0000',
    '\ufeff',
    '\ud800',
    '\udc00x',
    'NaN',
    '-0',
    '1e400',
    '2026-11-29T10:00:00Z',
    '0x10',
    'null',
  ),
  fc
    .tuple(
      fc.constantFrom('9', ' ', 'a', '.', '1.', '{', '%25', '\\', '/', '&amp;'),
      fc.integer({ min: 1, max: 50_000 }),
    )
    .map(([piece, count]) => piece.repeat(count)),
)

const numberText = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1',
    '1e400',
    '-1E+999',
    '1e-999',
    '0.1',
    '9007199254740993',
    '9223372036854775808',
    '8.64e15',
  ),
  fc.maxSafeInteger().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer({ min: 1, max: 200_000 }).map(length => '7'.repeat(length)),
)

const depth = fc.tuple(fc.constantFrom(['[', ']'], ['{"a":', '}']), fc.integer({ min: 1, max: 20_000 }))
const deep = depth.map(([[open, close], count]) => `${open!.repeat(count)}0${close!.repeat(count)}`)

/**
 * JSON texts: valid ones, and ones with a mistake.
 * @param names of fields that the reader knows
 * @param known values that it knows, as JSON
 */
export function jsonText(names: readonly string[], known: readonly string[]): fc.Arbitrary<string> {
  const name = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...names) }, hostileText)
  const { value } = fc.letrec<{ value: string; object: string }>(tie => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('true', 'false', 'null', ...known),
      numberText,
      hostileText.map(text => JSON.stringify(text)),
      deep,
      fc.array(tie('value'), { maxLength: 4 }).map(items => `[${items.join(',')}]`),
      tie('object'),
    ),
    object: fc
      .array(fc.tuple(name, tie('value')), { maxLength: 6 })
      .map(fields => `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
  }))
  return value
}

/** The text, cut or with a few characters replaced. */
export const damaged = (text: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(text.length), fc.nat(4), fc.string({ maxLength: 3 }))
    .map(([at, cut, piece]) => text.slice(0, at) + piece + text.slice(at + cut))
