import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { packCheckpoint, unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { DONE, IN_DOUBT, INTENT, NEW, type OffsetState, Window, windowSize } from '../../src/bus/session/window.ts'

/** A window with these states from the base on, and its horizon behind them. */
function windowOf(base: number, states: readonly OffsetState[]): Window {
  const window = new Window(base)
  states.forEach((state, i) => {
    window.set(base + i, state)
  })
  window.horizon = base + states.length
  return window
}

const statesOf = (window: Window, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => window.get(from + i))

const anyState = fc.constantFrom<OffsetState>(NEW, INTENT, DONE, IN_DOUBT)

describe('the window', () => {
  test('counts everything below its base as done, and holds nothing beyond its end', () => {
    const window = windowOf(100, [INTENT])
    expect(statesOf(window, 98, 4)).toEqual([DONE, DONE, INTENT, NEW])
    expect(window.get(100 + windowSize)).toBe(NEW)
    expect(() => window.set(100 + windowSize, INTENT)).toThrow(RangeError)
    expect(() => window.set(99, INTENT)).toThrow(RangeError)
  })

  test('keeps the state of each offset, whatever its size and the order of changes', () => {
    const steps = fc.array(fc.record({ ahead: fc.nat(windowSize - 1), state: anyState, advance: fc.boolean() }))
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), steps, (base, told) => {
        const window = new Window(base)
        const known = new Map<number, OffsetState>()
        for (const { ahead, state, advance } of told) {
          const offset = window.base + ahead
          window.set(offset, state)
          known.set(offset, state)
          if (advance) {
            window.horizon = Math.max(window.horizon, offset + 1)
            window.advance()
          }
          for (const [at, last] of known) expect(window.get(at)).toBe(at < window.base ? DONE : last)
        }
      }),
    )
  })
})

describe('the checkpoint', () => {
  test('gives the next owner all states as they were written', () => {
    const anyCheckpoint = fc.record({
      base: fc.nat({ max: 2 ** 50 }),
      seq: fc.nat(),
      states: fc.array(anyState, { maxLength: 300 }),
    })
    fc.assert(
      fc.property(anyCheckpoint, ({ base, seq, states }) => {
        const packed = packCheckpoint({
          tag: 'a-tag_1',
          seq,
          window: windowOf(base, states),
          uncheckedUntil: 0,
          forgotten: null,
          intentsSince: 0,
          memo: null,
          told: null,
        })
        const read = unpackCheckpoint(base, packed)
        expect(read).toMatchObject({ tag: 'a-tag_1', seq, window: { base, horizon: base } })
        expect(statesOf(read.window, base, states.length + 8)).toEqual([...states, ...Array(8).fill(NEW)])
      }),
    )
  })

  test('of a full window fits into the 4,096 characters that a broker allows', () => {
    for (const state of [INTENT, DONE, IN_DOUBT] as const) {
      const base = Number.MAX_SAFE_INTEGER - windowSize
      const window = windowOf(base, Array(windowSize).fill(state))
      const packed = packCheckpoint({
        tag: 'eightlet',
        seq: Number.MAX_SAFE_INTEGER,
        window,
        uncheckedUntil: Number.MAX_SAFE_INTEGER,
        forgotten: { until: Number.MAX_SAFE_INTEGER, owned: true },
        intentsSince: Number.MAX_SAFE_INTEGER,
        memo: '2147483647:9007199254740991',
        told: { from: Number.MAX_SAFE_INTEGER - 1, to: Number.MAX_SAFE_INTEGER },
      })
      expect(packed.length).toBeLessThanOrEqual(4096)
      expect(statesOf(unpackCheckpoint(base, packed).window, base, windowSize)).toEqual(Array(windowSize).fill(state))
    }
  })

  test.each([null, undefined, ''])('without metadata (%o) knows nothing up to the end of the log', metadata => {
    const read = unpackCheckpoint(42, metadata, 100)
    expect(read).toMatchObject({ tag: '', seq: 0, uncheckedUntil: 100, window: { base: 42, horizon: 42, length: 0 } })
    expect(read.forgotten).toEqual({ until: 100, owned: metadata !== undefined })
  })

  test('says up to which offset nothing is known, until the window has moved past it', () => {
    const window = windowOf(7, [DONE, INTENT])
    const checkpoint = {
      tag: 'tag',
      seq: 3,
      window,
      uncheckedUntil: 9,
      intentsSince: 0,
      memo: null,
      forgotten: null,
      told: null,
    }
    const packed = packCheckpoint(checkpoint)
    expect(packed).toBe('1;tag;3;Bg==;9;0;7')
    expect(unpackCheckpoint(7, packed).uncheckedUntil).toBe(9)
    window.set(8, DONE)
    window.advance()
    expect(packCheckpoint(checkpoint)).toBe('1;tag;3;;0;0;9')
    expect(unpackCheckpoint(9, '1;tag;3;').uncheckedUntil).toBe(0)
  })

  test.each([
    [0, '1;tag;3;AQ==;0;1700000000000;7'],
    [9, '1;tag;3;AQ==;9;1700000000000;7'],
  ])('says since when its intents exist (unchecked until %d)', (uncheckedUntil, text) => {
    const packed = packCheckpoint({
      ...{ tag: 'tag', seq: 3, window: windowOf(7, [INTENT]) },
      ...{ uncheckedUntil, intentsSince: 1_700_000_000_000, memo: null, forgotten: null, told: null },
    })
    expect(packed).toBe(text)
    expect(unpackCheckpoint(7, packed)).toMatchObject({ uncheckedUntil, intentsSince: 1_700_000_000_000, memo: null })
    expect(unpackCheckpoint(7, '1;tag;3;AQ==')).toMatchObject({ uncheckedUntil: 0, intentsSince: 0, memo: null })
  })

  test.each([null, { until: 0, owned: true }, { until: 9, owned: false }])(
    'says up to which offset intents or records were forgotten (%o)',
    forgotten => {
      const checkpoint = {
        tag: 'tag',
        seq: 3,
        window: windowOf(7, []),
        uncheckedUntil: 0,
        intentsSince: 0,
        memo: null,
        told: null,
        forgotten,
      }
      expect(unpackCheckpoint(7, packCheckpoint(checkpoint)).forgotten).toEqual(forgotten)
    },
  )

  test.each([null, { until: 9, owned: false }])('gives the next owner what it should remember (%o)', forgotten => {
    const checkpoint = { tag: 'tag', seq: 3, window: windowOf(7, []), uncheckedUntil: 0, intentsSince: 0, forgotten }
    for (const memo of [null, '-', '12:9007199254740991'])
      for (const told of [null, { from: 8_200, to: 9_000 }])
        expect(unpackCheckpoint(7, packCheckpoint({ ...checkpoint, memo, told }))).toMatchObject({
          memo,
          told,
          forgotten,
        })
  })

  test.each([
    ['2;tag;1;AQ==', '2'],
    ['10;of another shape', '10'],
    ['12345678901;', '123456789'],
  ])(
    'of a newer busgate ("%s") is refused, with the advice to use that version and not to reset the offset',
    (metadata, version) => {
      expect(() => unpackCheckpoint(42, metadata)).toThrow(
        `offset 42 was written by a newer busgate (version ${version}, this one reads 1): go back to the newer busgate; do not reset the offset`,
      )
    },
  )

  test.each(['leader-epoch=4', '1;tag', '1;tag;many;AQ==', '{"offset":1}', '1763', ''.padEnd(9, '9')])(
    'written by another program ("%s") is refused, with advice',
    metadata => {
      expect(() => unpackCheckpoint(42, metadata)).toThrow(
        `offset 42 carries metadata that busgate did not write ("${metadata}"); use another kafka.groupId for the worker, or reset the offset`,
      )
    },
  )

  test.each([40, 60])('of offset 50 is refused at offset %d, because its bits belong to other records', moved => {
    const packed = packCheckpoint({
      ...{ tag: 'tag', seq: 3, window: windowOf(50, [INTENT, NEW]), uncheckedUntil: 0, intentsSince: 0, memo: null },
      forgotten: null,
      told: null,
    })
    expect(() => unpackCheckpoint(moved, packed)).toThrow(
      new RegExp(
        `offset ${moved} carries the checkpoint of offset 50: another tool copied it.*reset the offset without`,
      ),
    )
  })

  test('is one that busgate can have written, or is refused with a short message, whatever the metadata', () => {
    const number = fc.oneof(
      fc.nat().map(String),
      fc.constantFrom('NaN', 'Infinity', '-1', '1e3', '0x10', ' 7', '', '9007199254740993'),
      fc.integer({ min: 16, max: 40 }).map(length => '9'.repeat(length)),
    )
    const bits = fc.oneof(
      fc.uint8Array({ maxLength: 9 }).map(bytes => Buffer.from(bytes).toString('base64')),
      fc.constantFrom('!', 'Bg', 'Bg=', 'A'.repeat(4000)),
      fc.string(),
    )
    const fields = fc.tuple(
      fc.constantFrom('1', '01', '1.0', '0'),
      fc.string(),
      number,
      bits,
      number,
      number,
      number,
      number,
    )
    const cut = fc.tuple(fields, fc.nat(9)).map(([all, count]) => all.slice(0, count).join(';'))
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 300 }), cut), metadata => {
        if (metadata === '') return
        try {
          const read = unpackCheckpoint(7, metadata)
          const { seq, uncheckedUntil, intentsSince, forgotten, window } = read
          for (const value of [seq, uncheckedUntil, intentsSince, forgotten?.until ?? 0])
            expect(value).toSatisfy(Number.isSafeInteger)
          expect(Math.min(seq, uncheckedUntil, intentsSince, forgotten?.until ?? 0)).toBeGreaterThanOrEqual(0)
          expect(window.length).toBeLessThanOrEqual(windowSize)
          expect(unpackCheckpoint(7, packCheckpoint(read))).toMatchObject({ tag: read.tag, seq })
        } catch (error) {
          expect((error as Error).message).toMatch(/^the c(ommitted offset|heckpoint at offset) 7 .{0,500}$/s)
        }
      }),
      { numRuns: 3000 },
    )
  })

  test.each([
    '1;tag;999999999999999999999999999999;',
    '1;tag;1;;NaN',
    '1;tag;1;;Infinity',
    '1;tag;1;;1e9',
    '1;tag;1;!',
  ])('with a field that busgate does not write ("%s") is refused', metadata => {
    expect(() => unpackCheckpoint(42, metadata)).toThrow(/offset 42 carries metadata that busgate did not write/)
  })

  test('written by another program is refused with a short message', () => {
    expect(() => unpackCheckpoint(42, 'x'.repeat(4000))).toThrow(/^.{0,250}$/)
  })
})
