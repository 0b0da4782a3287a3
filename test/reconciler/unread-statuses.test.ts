import { describe, expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import {
  placesIn,
  placesText,
  readAgain,
  type StatusPlace,
  UnreadStatuses,
} from '../../src/reconciler/unread-statuses.ts'
import type { DecodeError, Definite } from '../../src/records/decoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { ManualClock } from '../support/clock.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const places = (count: number) => Array.from({ length: count }, (_, i) => ({ partition: i, offset: 10 * i }))

describe('places of status events whose schema is missing', () => {
  test('are read from a header as they were written: each once, and eight at most', () => {
    expect(placesText(places(3))).toBe('0@0,1@10,2@20')
    expect(placesIn(placesText(places(8)))).toEqual(places(8))
    expect(placesIn(placesText(places(9)))).toEqual(places(8))
    expect(placesIn('1@2,1@2,2@1')).toEqual([
      { partition: 1, offset: 2 },
      { partition: 2, offset: 1 },
    ])
  })

  test.each([undefined, '', 'nonsense', '1', '1@', '@1', '-1@2', '1@2.5', `1@${'9'.repeat(16)}`])(
    'are none in the foreign header %j',
    header => {
      expect(placesIn(header)).toEqual([])
    },
  )

  test('are known by message, until the window of time has passed the last of them', () => {
    const unread = new UnreadStatuses()
    expect(unread.of('7')).toEqual([])
    const [first, second] = places(2)
    unread.add('7', first!, 1_000)
    unread.add('8', first!, 1_500)
    unread.add('7', second!, 2_000)
    unread.add('7', second!, 2_000)
    expect([unread.of('7'), unread.of('8')]).toEqual([[first, second], [first]])
    unread.forgetBefore(2_000)
    expect([unread.of('7'), unread.of('8')]).toEqual([[first, second], []])
    unread.forgetBefore(2_001)
    expect(unread.of('7')).toEqual([])
  })

  test('are kept of 10,000 messages', () => {
    const unread = new UnreadStatuses()
    for (let i = 0; i < 9_999; i++) unread.add(String(i), { partition: 0, offset: i }, i)
    expect(unread.isFull).toBe(false)
    unread.add('another', { partition: 0, offset: 1 }, 0)
    expect(unread.isFull).toBe(true)
  })
})

type Found = Partial<StatusEvent> | DecodeError['code'] | null

/** Reads events of message 7 again. */
function readEvents(found: readonly Found[], hooked = true) {
  const recordAt = async ({ offset }: StatusPlace): Promise<BusRecord | undefined> => {
    if (found[offset / 10] === null) return undefined
    return { offset, timestamp: 0, key: null, value: Buffer.from(String(offset)), headers: {} }
  }
  const decode = (value: Buffer | null): Definite<StatusEvent> => {
    const one = found[Number(value) / 10]!
    if (typeof one === 'string') return { ok: false, error: { code: one, message: '' } as DecodeError }
    return { ok: true, value: buildStatusEvent({ id: 7n, account: 'shop', final: true, verified: true, ...one }) }
  }
  const decoder = { decode, prepare: async () => {} } as never
  const options = { recordAt, decoder, clock: new ManualClock(), wanted: () => true }
  return readAgain(options, places(found.length), buildResult({ id: 7n, account: 'shop', hooked }))
}

describe('a status event that is read again', () => {
  test.each<[string, Found, boolean, boolean]>([
    ['is final and verified', {}, true, true],
    ['is not final', { final: false }, true, false],
    ['is of another message', { id: 8n }, true, false],
    ['is of another account', { account: 'bank' }, true, false],
    ["came to the account's address, about a message with an address of its own", { verified: false }, true, false],
    ["came to the account's address, about a message without one", { verified: false }, false, true],
    ['is not there any more', null, true, false],
    ['is damaged', 'AVRO_MALFORMED' as DecodeError['code'], true, false],
  ])('that %s gives the verdict or not', async (_, event, hooked, isVerdict) => {
    expect(await readEvents([event], hooked)).toEqual(isVerdict ? 'verdict' : [])
    expect(await readEvents([{ final: false }, event], hooked)).toEqual(isVerdict ? 'verdict' : [])
  })

  test.each<DecodeError['code']>(['SCHEMA_NOT_FOUND', 'SCHEMA_INCOMPATIBLE'])(
    'stays unread while its schema is missing or too new (%s), unless another one gives the verdict',
    async code => {
      expect(await readEvents([code, { final: false }, code])).toEqual([places(3)[0], places(3)[2]])
      expect(await readEvents([code, {}])).toBe('verdict')
    },
  )
})
