import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { BusUnavailable } from '../../src/bus/port.ts'
import { systemClock } from '../../src/clock.ts'
import { loadSettings, SettingsError } from '../../src/config/index.ts'
import {
  type ReadOptions,
  type Received,
  readResults,
  readStatuses,
  type SendResult,
  UnreadableRecordError,
  type WaitOptions,
  waitForResult,
} from '../../src/consumer/index.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import { RegistryUnavailable } from '../../src/records/errors.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { openMemoryBus, publishAll, until } from '../support/bus.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const settings = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' } } })
const { results: resultsTopic, statuses: statusesTopic } = settings.topics

/** Opens a bus with topics for results and statuses, two partitions each, and functions that write to them like busgate. */
async function startBus() {
  const { bus } = openMemoryBus([resultsTopic, statusesTopic], { groupId: 'busgate', partitions: 2 })
  const registry = embeddedRegistry()
  const encode = await createEncoder<SendResult>(subjectOf(resultsTopic), schemas.result, registry)
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(statusesTopic), schemas.status, registry)
  const write = (topic: string, id: bigint, value: Buffer) =>
    publishAll(bus, [{ topic, key: Buffer.from(String(id)), value }])
  return {
    bus,
    registry,
    result: (result: SendResult) => write(resultsTopic, result.id, encode(result)),
    status: (event: StatusEvent) => write(statusesTopic, event.id, encodeStatus(event)),
    garbage: (text: string) => write(resultsTopic, 1n, Buffer.from(text)),
  }
}

async function received<T>(records: AsyncIterable<Received<T>>): Promise<Received<T>[]> {
  const found: Received<T>[] = []
  for await (const record of records) found.push(record)
  return found
}

async function all<T>(records: AsyncIterable<Received<T>>): Promise<T[]> {
  return (await received(records)).map(({ value }) => value)
}

/** Blocks the event loop, as synchronous work of a reader does. */
function keepBusy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

const idsOf = (results: { id: bigint }[]) => results.map(({ id }) => Number(id)).sort((a, b) => a - b)

describe('readResults', () => {
  test('yields each result with its coordinates, and can stop at the current end of the topic', async () => {
    const { bus, registry, result } = await startBus()
    for (const id of [1n, 2n, 3n]) await result(buildResult({ id, msgId: `gw-${id}` }))
    const found = await received(readResults(settings, { from: 'earliest', untilEnd: true, bus, registry }))
    expect(idsOf(found.map(({ value }) => value))).toEqual([1, 2, 3])
    expect(found.find(({ value }) => value.id === 2n)).toEqual({
      value: buildResult({ id: 2n, msgId: 'gw-2' }),
      topic: resultsTopic,
      partition: expect.any(Number),
      offset: expect.any(Number),
      timestamp: expect.any(Number),
      headers: {},
    })
  })

  test('can start at a time, or at stored offsets', async () => {
    const { bus, registry, result } = await startBus()
    for (const id of [1n, 2n, 3n, 4n]) await result(buildResult({ id }))
    const since = Date.now() + 1
    await until(() => expect(Date.now()).toBeGreaterThan(since))
    await result(buildResult({ id: 5n }))
    const options = { untilEnd: true, bus, registry }
    for (const from of [since, new Date(since)])
      expect(idsOf(await all(readResults(settings, { ...options, from })))).toEqual([5])

    const offsets: Record<number, number> = {}
    for await (const { partition, offset } of readResults(settings, { ...options, from: 'earliest' })) {
      offsets[partition] = offset + 1
    }
    await result(buildResult({ id: 6n }))
    expect(idsOf(await all(readResults(settings, { ...options, from: { offsets } })))).toEqual([6])
  })

  test('continues where the last reader of its group ended', async () => {
    const { bus, registry, result } = await startBus()
    for (const id of [1n, 2n, 3n]) await result(buildResult({ id }))
    const readSome = async (count: number) => {
      const end = new AbortController()
      const ids: bigint[] = []
      for await (const { value } of readResults(settings, {
        ...{ from: { group: 'billing' }, signal: end.signal, bus, registry },
      })) {
        ids.push(value.id)
        if (ids.length === count) end.abort() // the loop's body still ends, and its record counts
      }
      return ids
    }
    const first = await readSome(2)
    expect(idsOf([...first, ...(await readSome(1))].map(id => ({ id })))).toEqual([1, 2, 3])
  })

  test('ends at once if its reader returns or its signal is aborted, even while no record arrives', async () => {
    const { bus, registry } = await startBus()
    const waiting = readResults(settings, { from: 'latest', bus, registry })
    const next = waiting.next()
    await waiting.return!()
    expect(await next).toEqual({ done: true, value: undefined })
    const signal = AbortSignal.timeout(20)
    expect(await all(readResults(settings, { from: { group: 'quiet' }, signal, bus, registry }))).toEqual([])
    expect(await all(readResults(settings, { from: 'earliest', signal, bus, registry }))).toEqual([])
  })

  test('fails at an unreadable record with its coordinates, without its content', async () => {
    const { bus, registry, garbage } = await startBus()
    await garbage('call 380671234567')
    const error = await all(readResults(settings, { from: 'earliest', bus, registry })).catch(error => error)
    expect(error).toBeInstanceOf(UnreadableRecordError)
    expect(error).toMatchObject({ code: 'NOT_CONFLUENT', topic: resultsTopic, offset: 0 })
    expect(error.message).toMatch(/^busgate\.results\/\d, offset 0 cannot be read: /)
    expect(error.message).not.toContain('380671234567')
  })

  test('skips an unreadable record if onUnreadable is given', async () => {
    const { bus, registry, garbage, result } = await startBus()
    await garbage('garbage')
    await result(buildResult({ id: 1n }))
    const errors: UnreadableRecordError[] = []
    const options: ReadOptions = { from: 'earliest', untilEnd: true, onUnreadable: error => errors.push(error) }
    expect(idsOf(await all(readResults(settings, { ...options, bus, registry })))).toEqual([1])
    expect(errors.map(({ code }) => code)).toEqual(['NOT_CONFLUENT'])
  })

  test.each([
    ['without a group', 'earliest'],
    ['in a group', { group: 'slow' }],
  ] as const)('lets timers and signals run while a loop without await works off a backlog, %s', async (_, from) => {
    const { bus, registry, result } = await startBus()
    const backlog = 20
    for (let id = 1; id <= backlog; id++) await result(buildResult({ id: BigInt(id) }))
    const stop = new AbortController()
    let handled = 0
    for await (const _ of readResults(settings, { from, signal: stop.signal, bus, registry })) {
      if (++handled === 1) setTimeout(() => stop.abort())
      if (handled === backlog) break
      keepBusy(30)
    }
    expect(handled).toBeLessThan(backlog)
  })

  test('waits for unavailable brokers, with and without a group, and can be aborted meanwhile', async () => {
    const { bus, registry, result } = await startBus()
    await result(buildResult({ id: 1n }))
    const { partitions } = bus
    let asked = 0
    bus.partitions = async topics => {
      if (++asked % 3 !== 0) throw new BusUnavailable('no broker answers')
      return partitions.call(bus, topics)
    }
    for (const from of ['earliest', { group: 'patient' }] as const) {
      const results = readResults(settings, { from, bus, registry })
      expect(await results.next()).toMatchObject({ value: { value: { id: 1n } } })
      await results.return!()
    }
    bus.partitions = () => Promise.reject(new BusUnavailable('no broker answers'))
    const waiting = readResults(settings, { from: 'earliest', bus, registry })
    const next = waiting.next()
    await waiting.return!()
    expect(await next).toEqual({ done: true, value: undefined })
  })

  test('waits for an unavailable schema registry', async () => {
    const { bus, registry, result } = await startBus()
    await result(buildResult({ id: 1n }))
    let asked = 0
    const away: SchemaRegistry = {
      ...registry,
      async schemaOf(id) {
        if (++asked === 1) throw new RegistryUnavailable('no answer')
        return registry.schemaOf(id)
      },
    }
    expect(idsOf(await all(readResults(settings, { from: 'earliest', untilEnd: true, bus, registry: away })))).toEqual([
      1,
    ])
    expect(asked).toBe(2)
  })

  test('reports missing settings before it starts', () => {
    const nothing = loadSettings({ env: {} })
    expect(() => readResults(nothing, { from: 'earliest' })).toThrow(SettingsError)
    expect(() => readResults(settings, { from: { group: 'busgate' } })).toThrow(
      'busgate is the group of the workers (kafka.groupId): use another group for a reader',
    )
    expect(() => readResults(settings, { from: { group: 'billing' }, untilEnd: true })).toThrow(
      'untilEnd cannot be used with a group',
    )
  })

  test.each<[string, ReadOptions['from'], string]>([
    ['offsets as text, which kafkajs has', { offsets: { 0: '17' as never } }, 'from.offsets[0]: '],
    ['offsets below 0', { offsets: { 1: -1 } }, 'from.offsets[1]: '],
    [
      'offsets of no partition',
      { offsets: { ['busgate.results/0' as never]: 1 } },
      'from.offsets[busgate.results/0]: ',
    ],
    ['a group without a name', { group: '' }, 'from.group must be '],
  ])('refuses %s', (_, from, message) => {
    expect(() => readResults(settings, { from })).toThrow(message)
  })

  test('leaves no timer after it has failed', async () => {
    const { bus, registry, garbage } = await startBus()
    const timers = new Set<object>()
    const { after } = systemClock
    vi.spyOn(systemClock, 'after').mockImplementation((ms, callback) => {
      const timer = {}
      const end = () => timers.delete(timer)
      timers.add(timer)
      const cancel = after(ms, () => {
        end()
        callback()
      })
      return () => {
        end()
        cancel()
      }
    })
    onTestFinished(() => void vi.restoreAllMocks())
    await garbage('garbage')
    await expect(all(readResults(settings, { from: 'earliest', bus, registry }))).rejects.toThrow('cannot be read')
    await until(() => expect(timers.size).toBe(0))
  })

  test('fails if its topic does not exist', async () => {
    const { bus, registry } = await startBus()
    const other = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' }, topics: { results: 'none' } } })
    await expect(all(readResults(other, { from: 'earliest', bus, registry }))).rejects.toThrow(
      'missing on the bus: none',
    )
    await expect(all(readResults(other, { from: { group: 'g' }, bus, registry }))).rejects.toThrow('none')
  })
})

test('readStatuses yields status events', async () => {
  const { bus, registry, status } = await startBus()
  await status(buildStatusEvent({ id: 7n }))
  const found = await all(readStatuses(settings, { from: 'earliest', untilEnd: true, bus, registry }))
  expect(found).toEqual([buildStatusEvent({ id: 7n })])
})

test.each([
  [new Date('soon'), 'from'],
  ['yesterday', 'from'],
  [Number.NaN, 'from'],
  [17, 'from'],
  [1_764_410_400, 'from'],
  [1_764_410_400_000_000, 'from'],
  [new Date(-1), 'from'],
  [null, 'from'],
  [{ group: 'g', startFrom: new Date(Number.NaN) }, 'startFrom'],
  [{ group: 'g', startFrom: 1_764_410_400 }, 'startFrom'],
])('a reader refuses to begin at %o at once', (from, name) => {
  expect(() => readResults(settings, { from: from as never })).toThrow(
    `${name} must be a valid Date or a whole number of milliseconds since 1970`,
  )
})

describe('waitForResult', () => {
  test('skips IN_DOUBT, duplicates, other ids, and unreadable records', async () => {
    const { bus, registry, result, garbage } = await startBus()
    const waiting = waitForResult(settings, 1001, { bus, registry })
    await garbage('garbage')
    await result(buildResult({ id: 1001n, outcome: 'IN_DOUBT', final: false }))
    await result(buildResult({ id: 1001n, outcome: 'DUPLICATE', commandOffset: 8 }))
    await result(buildResult({ id: 1002n }))
    await result(buildResult({ id: 1001n, outcome: 'UNRESOLVED' }))
    expect(await waiting).toMatchObject({ id: 1001n, outcome: 'UNRESOLVED' })
  })

  test('finds an existing result of the given account, or of the account default', async () => {
    const { bus, registry, result } = await startBus()
    await result(buildResult({ id: 5n, account: 'shop', outcome: 'REJECTED' }))
    await result(buildResult({ id: 5n, account: 'bank' }))
    await result(buildResult({ id: 5n, outcome: 'EXPIRED' }))
    expect(await waitForResult(settings, 5n, { bus, registry })).toMatchObject({ outcome: 'EXPIRED' })
    expect(await waitForResult(settings, 5n, { account: 'bank', bus, registry })).toMatchObject({ outcome: 'SENT' })
  })

  test('finds the result of the first record of a repeated id, however old it is', async () => {
    const { bus, registry, result } = await startBus()
    await result(buildResult({ id: 9n, account: 'bank', outcome: 'REJECTED' }))
    await result(buildResult({ id: 9n, outcome: 'SENT', msgId: 'gw-9' }))
    const since = Date.now() + 1
    await until(() => expect(Date.now()).toBeGreaterThan(since))
    const waiting = waitForResult(settings, 9, { since, bus, registry })
    await result(buildResult({ id: 9n, outcome: 'DUPLICATE', commandOffset: 8 }))
    expect(await waiting).toMatchObject({ outcome: 'SENT', msgId: 'gw-9' })
  })

  test('waits for the first record of a repeated id if it has no result yet', async () => {
    const { bus, registry, result } = await startBus()
    await result(buildResult({ id: 9n, outcome: 'DUPLICATE', commandOffset: 8 }))
    const waiting = waitForResult(settings, 9, { bus, registry })
    await result(buildResult({ id: 9n, outcome: 'DUPLICATE', commandOffset: 9 }))
    await result(buildResult({ id: 9n, outcome: 'SENT' }))
    expect(await waiting).toMatchObject({ outcome: 'SENT' })
  })

  test.each([
    ['an invalid date', { since: new Date('29.11.2026') }, /^since must be a valid Date/],
    ['a text', { since: '2026-11-29' as never }, /^since must be a valid Date/],
    ['seconds', { since: 1_700_000_000 }, /^since must be a valid Date/],
    ['null', { since: null as never }, /^since must be a valid Date/],
  ])('refuses %s as since at once', async (_, options, message) => {
    const { bus, registry } = await startBus()
    await expect(waitForResult(settings, 5n, { ...options, bus, registry })).rejects.toThrow(message)
  })

  test.each([0, -1, 1.5, Number.NaN, 2 ** 53, 2n ** 63n, '7' as never])('refuses the id %s at once', async id => {
    const { bus, registry } = await startBus()
    await expect(waitForResult(settings, id, { bus, registry })).rejects.toThrow(
      /^waitForResult: id must be a whole number/,
    )
  })

  test('gives up with the reason of its signal', async () => {
    const { bus, registry } = await startBus()
    const reason = new Error('the customer has left')
    const waiting = waitForResult(settings, 5n, { signal: AbortSignal.abort(reason), bus, registry })
    await expect(waiting).rejects.toBe(reason)
  })

  /** Waits again until the complaint after a time-out contains the text: a busy machine may read nothing within one wait. */
  async function complains(text: string, options: WaitOptions, brokers = settings): Promise<void> {
    await until(async () => {
      const waiting = waitForResult(brokers, 5n, { signal: AbortSignal.timeout(100), ...options })
      const error = await waiting.catch(error => error)
      expect([error.name, error.message]).toEqual(['TimeoutError', expect.stringContaining(text)])
    })
  }

  test('says after a time-out what it waited for, and which command shows more', async () => {
    const { bus, registry } = await startBus()
    const since = new Date('2026-05-06T07:08:09Z')
    const options = { account: 'bank', since, bus, registry }
    await complains(
      'busgate.results has no final result of message 5 (account bank) since 2026-05-06T07:08:09',
      options,
    )
    await complains(' s: is a worker running? busgate message 5 --account bank shows where the message is', options)
  })

  test('says after a time-out that the message is in doubt, or that its id was used before', async () => {
    const { bus, registry, result } = await startBus()
    const options = { account: 'bank', bus, registry }
    await result(buildResult({ id: 5n, account: 'bank', outcome: 'DUPLICATE' }))
    const used =
      ': its id was used before (DUPLICATE), and the result of its first record was not found. busgate message 5 '
    await complains(used, options)
    const completedAt = Date.UTC(2026, 4, 6, 7, 8, 9)
    await result(buildResult({ id: 5n, account: 'bank', outcome: 'IN_DOUBT', final: false, completedAt }))
    await complains('it is IN_DOUBT since 2026-05-06T07:08:09.000Z, perhaps sent: do not send it again.', options)
    await complains('is a worker running?', { ...options, account: 'shop' })
  })

  test('says after a time-out that no broker answers, and which setting to check', async () => {
    const brokers = { kafka: { brokers: '127.0.0.1:1' }, registry: { url: 'http://127.0.0.1:1' } }
    const away = loadSettings({ env: {}, overrides: brokers })
    await complains('ECONNREFUSED 127.0.0.1:1: check kafka.brokers (BUSGATE_KAFKA_BROKERS) and', {}, away)
  })
})
