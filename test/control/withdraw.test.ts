import { describe, expect, test } from 'vitest'
import type { Publisher, Reader, RecordsHandler } from '../../src/bus/port.ts'
import { loadSettings } from '../../src/config/index.ts'
import {
  type Change,
  changeText,
  deletionOf,
  endOf,
  keyOf,
  withdrawalText,
  writeChange,
} from '../../src/control/change.ts'
import { historyOf, readHistory } from '../../src/control/history.ts'
import { readControl } from '../../src/control/read.ts'
import { recordsOf, withdrawnBy } from '../../src/control/withdraw.ts'
import { writeAndReadBack } from '../../src/control/write.ts'
import { openMemoryBus, publishAll } from '../support/bus.ts'
import { ManualClock } from '../support/clock.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'

const dayMs = 86_400_000
const settings = loadSettings({ env: {}, overrides: { topics: { control: 'control' } } })
const now = Date.now()
const lasting = (overrides: Parameters<typeof buildWithdrawal>[0] = {}) =>
  buildWithdrawal({ at: now, until: now + dayMs, ...overrides })
const messages = (count: number, overrides: Parameters<typeof buildWithdrawal>[0] = {}) =>
  Array.from({ length: count }, (_, i) => lasting({ kind: 'message', name: `default/${i}`, ...overrides }))

/** What the control topic says after these changes. */
async function readAfter(changes: readonly Change[], partitionOf?: (i: number) => number) {
  const { bus } = openMemoryBus(['control'], { partitions: partitionOf ? 2 : 1 })
  const records = changes.map((change, i) => ({
    ...writeChange('control', change),
    ...(partitionOf && { partition: partitionOf(i) }),
  }))
  await publishAll(bus, records)
  return readControl(bus, settings)
}

describe('a withdrawal', () => {
  test.each([
    [{ campaign: 'spring' }, 'withdrawn/campaign/spring'],
    [{ correlationId: 'order 1' }, 'withdrawn/correlation_id/order 1'],
    [{ tenant: 'acme' }, 'withdrawn/tenant/acme'],
    [{ id: 7 }, 'withdrawn/message/default/7'],
    [{ id: 2n ** 60n, account: 'shop' }, `withdrawn/message/shop/${2n ** 60n}`],
  ])('of %o has the key %s', (names, key) => {
    expect(keyOf(withdrawnBy(names)!)).toBe(key)
  })

  test('names one thing', () => {
    for (const names of [{}, { account: 'shop' }, { tenant: 'acme', id: 1 }, { campaign: 'a', correlationId: 'b' }])
      expect(withdrawnBy(names)).toBeNull()
  })

  test.each([
    ['it names nothing', { name: '' }, /needs the name of what is withdrawn/],
    ['it has no reason', { reason: null }, /needs a reason/],
    ['its reason is blank', { reason: ' ' }, /needs a reason/],
    ['it has no end', { until: null }, /must end after it begins/],
    ['it ends when it begins', { until: now }, /must end after it begins/],
    ['it lasts more than 30 days', { until: now + 30 * dayMs + 1 }, /ends after 30 days at most/],
  ])('is refused if %s', (_, overrides, message) => {
    expect(() => recordsOf('control', lasting(overrides), null)).toThrow(message)
  })

  test.each([{ until: now + 1 }, { until: now + 30 * dayMs }])('is written with any end between: %o', overrides => {
    const withdrawal = lasting(overrides)
    expect(recordsOf('control', withdrawal, null)).toEqual([writeChange('control', withdrawal)])
  })

  test('is refused while 10,000 others are in force, and says when the first is over, unless it changes one', () => {
    const first = lasting({ kind: 'message', name: 'shop/1', until: now + 1_000 })
    const over = new Date(endOf(first, settings.commands)).toISOString()
    const known = { used: 0.1, overfull: null, over: [], life: settings.commands }
    const inForce = [...messages(9_999), first, ...Array.from({ length: 5 }, (_, i) => buildPause({ name: `t${i}` }))]
    expect(recordsOf('control', lasting({ name: 'shop/1', kind: 'message' }), { ...known, inForce })).toHaveLength(1)
    expect(recordsOf('control', lasting(), { ...known, inForce: inForce.slice(1) })).toHaveLength(1)
    expect(() => recordsOf('control', lasting(), { ...known, inForce })).toThrow(
      `10000 withdrawals are in force, the most there can be; the first is over at ${over}`,
    )
  })

  test('deletes the records of up to 1,000 that are over, but never its own', () => {
    const [withdrawal, ...others] = messages(1_500)
    const records = recordsOf('control', withdrawal!, {
      ...{ used: 0, overfull: null, inForce: [], life: settings.commands },
      over: [withdrawal!, ...others],
    })
    expect(records).toEqual([
      writeChange('control', withdrawal!),
      ...others.slice(0, 1_000).map(one => deletionOf('control', one)),
    ])
  })

  test.each([
    ['message', 'it was withdrawn by olena: wrong price'],
    ['campaign', 'its campaign was withdrawn by olena: wrong price'],
    ['correlation_id', 'its correlationId was withdrawn by olena: wrong price'],
  ] as const)('of a %s is explained in the results', (kind, text) => {
    expect(withdrawalText(lasting({ kind }))).toBe(text)
    expect(withdrawalText(lasting({ kind, reason: null }))).toBe(text.replace(': wrong price', ''))
  })
})

const at = Date.UTC(2026, 2, 14)
const until = at + dayMs
const since = 'since 2026-03-14T00:00:00.000Z'
const end = 'until 2026-03-15T00:00:00.000Z'

test.each<[Change, string]>([
  [buildPause({ at }), `topic bulk is paused by olena ${since} until it is resumed`],
  [buildPause({ at, until, reason: 'spam' }), `topic bulk is paused by olena ${since} ${end}: spam`],
  [
    buildPause({ kind: 'quiet_hours', name: 'shop', at, until }),
    `account shop, but for its most urgent topic, is paused by olena ${since} ${end}`,
  ],
  [buildWithdrawal({ at, until }), `campaign spring is withdrawn by olena ${since} for commands ${end}: wrong price`],
  [
    buildWithdrawal({ kind: 'message', name: 'shop/7', at, until, reason: null }),
    `message 7 of account shop is withdrawn by olena ${since} for commands ${end}`,
  ],
  [
    buildWithdrawal({ kind: 'correlation_id', name: 'order 1', at, until, reason: null }),
    `correlationId order 1 is withdrawn by olena ${since} for commands ${end}`,
  ],
])('an operator reads what is paused or withdrawn, by whom, since and until when, and why: $1', (change, text) => {
  expect(changeText(change)).toBe(text)
})

describe('the control topic', () => {
  const long = now - 40 * dayMs

  test('tells what is in force, and withdrawals that are over', async () => {
    const over = lasting({ name: 'winter', at: long, until: long + dayMs })
    const changes = [
      buildPause({ at: now }),
      lasting(),
      over,
      buildPause({ name: 'urgent', at: now }),
      buildResume({ name: 'urgent', at: now }),
      lasting({ name: 'summer' }),
      lasting({ name: 'summer', begins: false }),
    ]
    const control = await readAfter(changes)
    expect(control.inForce.map(keyOf)).toEqual(['topic/bulk', 'withdrawn/campaign/spring'])
    expect(control.over.map(keyOf)).toEqual(['withdrawn/campaign/winter', 'withdrawn/campaign/summer'])
    expect(control).toMatchObject({ overfull: null, used: 2 / 100_000 })
  })

  test('no longer tells of a withdrawal whose record was deleted, or that began anew', async () => {
    const { bus } = openMemoryBus(['control'])
    const over = ['winter', 'autumn'].map(name => lasting({ name, at: long, until: long + dayMs }))
    await publishAll(bus, [
      ...over.map(one => writeChange('control', one)),
      deletionOf('control', over[0]!),
      writeChange('control', lasting({ name: 'autumn' })),
    ])
    const control = await readControl(bus, settings)
    expect(control.over).toEqual([])
    expect(control.inForce.map(keyOf)).toEqual(['withdrawn/campaign/autumn'])
  })

  test('with several partitions tells the last change of each scope by time', async () => {
    const changes = [buildResume({ at: now + 3 }), buildPause({ at: now + 2 })]
    expect((await readAfter(changes, i => i)).inForce).toEqual([])
    expect((await readAfter(changes.toReversed(), i => i)).inForce).toEqual([])
  })

  test('with several partitions tells of no withdrawal as over that has begun anew', async () => {
    const over = lasting({ at: long, until: long + dayMs })
    for (const changes of [
      [lasting(), over],
      [over, lasting()],
    ])
      expect((await readAfter(changes, i => i)).over).toEqual([])
  })

  test('tells what had no room while it was read, and has it at the end', async () => {
    const named = (count: number, begins: boolean) =>
      Array.from({ length: count }, (_, i) => lasting({ kind: 'message', name: `${i}/${'x'.repeat(1_000)}`, begins }))
    const control = await readAfter([...named(15_600, true), ...named(200, false)])
    expect([control.inForce.length, control.overfull]).toEqual([15_400, null])
  })

  test('tells of quiet hours, and leaves no timer', async () => {
    const { bus } = openMemoryBus(['control'])
    const clockTime = (ms: number) => new Date(ms).toISOString().slice(11, 16)
    const quietHours = `${clockTime(now - 3_600_000)}-${clockTime(now + 3_600_000)} UTC`
    const overrides = { topics: { control: 'control' }, gateway: { quietHours } }
    const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
    const before = timers()
    const { inForce } = await readControl(bus, loadSettings({ env: {}, overrides }))
    expect(inForce.map(keyOf)).toEqual(['quiet_hours/default'])
    expect(timers()).toBeLessThanOrEqual(before) // those of other files may have ended
  })

  test('is read until its reader is asked to end', async () => {
    const { bus } = openMemoryBus(['control'])
    await expect(readControl(bus, settings, AbortSignal.abort(new Error('interrupted')))).rejects.toThrow('interrupted')
  })

  test('is told with at most 10,000 withdrawals that are over', async () => {
    const ended = messages(10_500, { at: long, until: long + dayMs })
    const control = await readAfter([...ended, buildPause({ at: now })])
    expect([control.over.length, control.over[0]!.name]).toEqual([10_000, 'default/0'])
  })

  test('leaves to the history what was done: its newest 10,000 deeds, in their order', async () => {
    const { bus } = openMemoryBus(['history'])
    const changes = [...messages(10_500), buildPause({ at: now }), buildResume({ at: now })]
    await publishAll(
      bus,
      historyOf(
        'history',
        changes.map(change => writeChange('control', change)),
      ),
    )
    const { deeds, foreign } = await readHistory(
      bus,
      loadSettings({ env: {}, overrides: { topics: { history: 'history' } } }),
    )
    expect([deeds.length, deeds[0]!.name, ...deeds.slice(-2)]).toEqual([10_000, 'default/502', ...changes.slice(-2)])
    expect(foreign).toBe(0)
  })

  test('that does not exist is to be created', async () => {
    const { bus } = openMemoryBus([])
    await expect(readControl(bus, settings)).rejects.toThrow('create it with busgate topics create')
  })
})

test('a change is written with all its records, once workers can read it', async () => {
  const { bus } = openMemoryBus(['control'])
  const change = lasting()
  const records = [writeChange('control', change), deletionOf('control', lasting({ name: 'winter' }))]
  await writeAndReadBack(bus, 'control', records)
  expect((await readControl(bus, settings)).inForce).toMatchObject([change])
})

test('a change that the bus refuses is told as refused, and nothing is left open', async () => {
  const { bus } = openMemoryBus(['control'])
  const open: string[] = []
  const watched = <T extends { close(): Promise<void> }>(name: string, opened: T): T => {
    open.push(name)
    const close = () => {
      open.splice(open.indexOf(name), 1)
      return opened.close()
    }
    return { ...opened, close }
  }
  const { read, publisher } = bus
  bus.read = async (...args) => watched('reader', await read.apply(bus, args))
  bus.publisher = async () => {
    const publish = () => Promise.reject(new Error('not enough replicas'))
    return watched('publisher', { ...(await publisher.apply(bus)), publish })
  }
  const written = writeAndReadBack(bus, 'control', [writeChange('control', lasting())])
  await expect(written).rejects.toMatchObject({ message: 'not enough replicas' })
  expect(open).toEqual([])
})

test('a change counts as written only once it is read back itself, within five seconds', async () => {
  for (const isReadBack of [true, false]) {
    const clock = new ManualClock()
    const change = writeChange('control', lasting())
    const [key, value] = [Buffer.from(change.key!), Buffer.from(change.value!)]
    const reading = Promise.withResolvers<RecordsHandler>()
    const opened = { close: async () => {}, publish: async () => {} }
    const bus = {
      read: async (_topics: readonly string[], _from: unknown, take: RecordsHandler) => {
        reading.resolve(take)
        return opened as unknown as Reader
      },
      publisher: async () => opened as unknown as Publisher,
    }
    let isWritten = false
    const written = writeAndReadBack(bus, 'control', [change], clock).then(() => {
      isWritten = true
    })
    written.catch(() => {})
    const take = await reading.promise
    const record = { offset: 0, timestamp: 0, headers: {}, key, value }
    await take({ topic: 'control', partition: 0 }, [
      { ...record, key: Buffer.from('tenant/acme') },
      { ...record, value: Buffer.from('{}') },
    ])
    await clock.pass(4_999)
    expect(isWritten).toBe(false)
    if (isReadBack) await take({ topic: 'control', partition: 0 }, [record])
    await clock.pass(1)
    if (isReadBack) await written
    else await expect(written).rejects.toThrow('control did not give it back within 5 s: workers may not see it')
    expect(clock.pending).toBe(0)
  }
})
