import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import type { BusRecord } from '../../src/bus/port.ts'
import { errorHeaders } from '../../src/records/dead-letter.ts'
import { copyOfHeader, type LaterFacts, type LaterState, laterHeaderOf, readLater } from '../../src/records/later.ts'
import { WaitingRows } from '../../src/worker/later/waiting-rows.ts'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'
import { numbersFrom, type Post, type SendingOptions, sorted, startSendingWorld } from '../support/sending.ts'

const minute = 60_000
const hour = 60 * minute

async function startWorld(options: SendingOptions = {}) {
  const world = await startSendingWorld(options)
  const { broker, clock, posts, results, settings, letters } = world
  return {
    ...world,
    entries: (topic = 'later') => broker.read({ topic, partition: 0 }, 0, 1_000_000).records.map(one => readLater(one)),
    ids: () => posts.flatMap(({ ids }) => ids),
    outcomes: () => results().map(({ id, outcome, errorCode }) => [Number(id), outcome, errorCode]),
    lettersOf: () =>
      letters().map(({ headers }) => [Number(headers[errorHeaders.offset]), String(headers[errorHeaders.code])]),
    reset: (offset: number) => broker.resetOffset(settings.kafka.groupId, { topic: 'bulk', partition: 0 }, offset),
    in: (ms: number) => clock.now() + ms,
  }
}

const facts = {
  account: 'default',
  type: 'sms',
  correlationId: null,
  tenant: null,
  campaign: null,
  country: null,
  notBefore: null,
  since: 0,
  timestamp: 0,
  expiresAt: 0,
  copyAt: null,
}

describe('what others write', () => {
  test('a forged copy that is delivered before the true one takes the place of none', async () => {
    const {
      put,
      encode,
      pass,
      results,
      in: at,
      broker,
      clock,
    } = await startWorld({ settings: { commands: { maxAgeMs: hour } } })
    put('bulk', commandsFrom(1, 1, { notBefore: at(hour) }))
    await pass(hour - 2_000, 1_000)
    // the forged record stands on the log before the true copy, and is read after the release
    const key = 'bulk/0@0#1'
    const forged = {
      key: null,
      value: await encode({ id: 5n, phone: 380509999999 }),
      headers: { [copyOfHeader]: key, 'busgate.later': laterHeaderOf('released', facts) },
    }
    let isDone = false
    const write = broker.write.bind(broker)
    broker.write = (producer, transaction, now) => {
      if (!isDone && transaction.records.some(({ headers }) => headers && copyOfHeader in headers)) {
        isDone = true
        broker.append([{ topic: 'bulk', partition: 0, ...forged }], clock.now())
      }
      write(producer, transaction, now)
    }
    await pass(10_000, 100)
    expect(isDone).toBe(true)
    expect(
      results()
        .map(({ id, outcome, commandOffset }) => [Number(id), outcome, commandOffset])
        .sort(),
    ).toEqual([
      [1, 'SENT', 0],
      [5, 'SENT', expect.any(Number)],
    ])
  })

  test('a command with the headers of the copy of another has its own result, though the progress was reset', async () => {
    const { put, pass, takeOver, in: at, broker, encode, clock, reset, outcomes } = await startWorld()
    put('bulk', commandsFrom(1, 1, { notBefore: at(minute) }))
    await pass(1_000)
    const [waiting] = broker.read({ topic: 'later', partition: 0 }, 0, 1).records
    const value = await encode({ id: 5n })
    const headers = { [copyOfHeader]: String(waiting!.key), 'busgate.later': String(waiting!.headers['busgate.later']) }
    await takeOver({
      meanwhile() {
        broker.append([{ topic: 'bulk', partition: 0, key: null, value, headers }], clock.now())
        reset(0)
      },
    })
    await pass(10 * minute, 1_000)
    expect(outcomes().filter(([, outcome]) => outcome === 'SENT')).toEqual([
      [1, 'SENT', null],
      [5, 'SENT', null],
    ])
  })

  test.each([
    {
      since: Number.MAX_SAFE_INTEGER,
      timestamp: Number.MAX_SAFE_INTEGER,
      expiresAt: Number.MAX_SAFE_INTEGER,
      notBefore: null,
    },
    { account: '\ud800', type: '__proto__', country: 'x'.repeat(10_000), notBefore: 1 },
    { account: 'nobody', type: 'constructor', copyAt: Number.MAX_SAFE_INTEGER, notBefore: Number.MAX_SAFE_INTEGER },
    { account: '', type: '', correlationId: '\u0000'.repeat(10_000), timestamp: -1, since: -1, expiresAt: -1 },
  ])('a hostile record of the table harms no other: %o', async hostile => {
    const { put, pass, ids, takeOver, in: at, broker, clock, encode, control, fatals } = await startWorld()
    put('bulk', commandsFrom(1, 3, { notBefore: at(minute) }))
    await pass(1_000)
    const value = await encode({ id: 9n })
    const write = (state: LaterState, key: string, bytes: Buffer | null = value) =>
      broker.append(
        [
          {
            topic: 'later',
            partition: 0,
            key,
            value: bytes,
            headers: {
              'busgate.later': laterHeaderOf(state, { ...facts, campaign: 'spring', ...hostile } as LaterFacts),
            },
          },
        ],
        clock.now(),
      )
    await takeOver({
      meanwhile: () => {
        write('waits', 'bulk/0@900#11')
        write('omitted', 'bulk/0@901#12')
        write('released', 'bulk/0@902#13')
        write('waits', 'bulk/0@9007199254740991#14')
        write('waits', 'bulk/0@903#15', Buffer.alloc(0))
      },
    })
    await pass(2_000)
    control(buildWithdrawal())
    await pass(2 * minute, 1_000)
    await takeOver()
    await pass(10_000, 1_000)
    expect(ids().filter(id => id < 9)).toEqual([1, 2, 3])
    put('bulk', commandsFrom(20, 3))
    await pass(2_000)
    expect(ids()).toEqual(expect.arrayContaining([20, 21, 22]))
    expect(fatals).toEqual([])
  })
})

test.each([
  { correlationId: '\u0001'.repeat(200_000), why: 'its own text' },
  { account: '\u0001'.repeat(200_000), why: 'its account' },
  { correlationId: '\u0001'.repeat(200_000), campaign: 'spring', why: 'its own text, while it is paused' },
])('a command too long for the header of the table stops no other: $why', async ({ why, ...texts }) => {
  const { put, pass, results, ids, takeOver, in: at, broker, control } = await startWorld()
  broker.limit('later', 1_048_588)
  broker.limit('bulk', 1_048_588)
  if (texts.campaign) control(buildPause({ kind: 'campaign', name: 'spring' }))
  await pass(1_000)
  put('bulk', commandsFrom(1, 1, { ...(texts.campaign === undefined && { notBefore: at(minute) }), ...texts }))
  put('bulk', commandsFrom(2, 1))
  await pass(5_000)
  expect(ids()).toEqual([2])
  await takeOver()
  if (texts.campaign) control(buildResume({ kind: 'campaign', name: 'spring' }))
  await pass(2 * minute, 1_000)
  expect(results().filter(({ id }) => id === 1n)).toMatchObject([
    texts.account ? { outcome: 'INVALID' } : { outcome: 'SENT', ...texts },
  ])
})

test('a command whose copy is too large for its topic ends INVALID, and the error names the topic', async () => {
  const { put, pass, results, letters, in: at, broker, takeOver, reset } = await startWorld()
  broker.limit('bulk', 2_500)
  put('bulk', commandsFrom(1, 1, { notBefore: at(minute), correlationId: 'x'.repeat(1_500) }))
  put('bulk', commandsFrom(2, 1, { notBefore: at(minute) }))
  await pass(3 * minute, 1_000)
  const ends = () => results().filter(({ id, final }) => id === 1n && final)
  const end = { outcome: 'INVALID', errorCode: 'VALIDATION', commandOffset: 0, error: /copy of it on bulk: raise/ }
  expect(ends()).toMatchObject([end])
  await takeOver({ meanwhile: () => reset(0) })
  await pass(3 * minute, 1_000)
  expect([ends().length, letters()]).toEqual([1, []])
})

/** Reads some records of the table as a damaged batch. */
class DamagedBroker extends MemoryBroker {
  damaged = { from: 0, until: 0 }

  override read(...[tp, from, most]: Parameters<MemoryBroker['read']>) {
    const { records, next } = super.read(tp, from, most)
    if (tp.topic !== 'later') return { records, next }
    return { next, records: records.map(one => (this.#isDamaged(one) ? damagedAt(one.offset) : one)) }
  }

  #isDamaged({ offset }: { offset: number }): boolean {
    return offset >= this.damaged.from && offset < this.damaged.until
  }
}

function damagedAt(offset: number): BusRecord {
  const message = `The batch at offset ${offset} cannot be read.`
  const unreadable = { code: 'BATCH_CORRUPT', message, lastOffset: offset } as const
  return { offset, timestamp: -1, key: null, value: null, headers: {}, unreadable }
}

async function startDamagedWorld(options: SendingOptions = {}) {
  const world = await startWorld({ ...options, Broker: DamagedBroker })
  const { broker } = world
  const table = { topic: 'later', partition: 0 }
  return {
    ...world,
    tableEnd: () => broker.end(table),
    damage: (from: number, until = broker.end(table)) => {
      ;(broker as DamagedBroker).damaged = { from, until }
    },
  }
}

test('a damaged batch of the table is told of when the table is read', async () => {
  const { put, pass, takeOver, damage, in: at, telemetry } = await startDamagedWorld()
  const told: string[] = []
  telemetry.on('bus.log', ({ level, message }) => void (level === 'error' && told.push(message)))
  put('bulk', commandsFrom(1, 3, { notBefore: at(minute) }))
  await pass(1_000)
  expect(told).toEqual([])
  damage(1, 2)
  await takeOver()
  expect(told).toEqual([
    expect.stringMatching(/^later\/0: The batch at offset 1 cannot be read\. Commands whose records are there/),
  ])
})

describe('where the end of what waited cannot be read on the table', () => {
  test('nothing that was sent is sent again, and what is not due yet waits on', async () => {
    const { put, pass, ids, outcomes, lettersOf, takeOver, damage, tableEnd, in: at } = await startDamagedWorld()
    put('bulk', commandsFrom(100, 1, { notBefore: at(10 * hour) }))
    put('bulk', commandsFrom(1, 3, { notBefore: at(hour), delivery: 'AT_MOST_ONCE' }))
    await pass(10_000, 1_000)
    const from = tableEnd()
    await pass(hour, 1_000)
    damage(from)
    await takeOver()
    await pass(10 * hour, minute)
    expect([sorted(ids()), outcomes().length, lettersOf()]).toEqual([[1, 2, 3, 100], 4, []])
  })

  test('what was due and has no copy is told of as perhaps sent, however much it is', async () => {
    const { put, pass, ids, letters, takeOver, damage, tableEnd, clock, in: at } = await startDamagedWorld()
    put('bulk', commandsFrom(1, 4_000, { notBefore: at(hour) }))
    put('bulk', commandsFrom(9_001, 1, { notBefore: at(10 * hour) }))
    await pass(10_000, 1_000)
    damage(tableEnd() - 2) // the last record; a mark of the transaction follows it
    await takeOver({ meanwhile: () => clock.suspend(2 * hour) })
    await pass(900, 100) // less than until the clock is looked at again
    const perhaps = letters().filter(({ headers }) => headers[errorHeaders.perhapsSent] !== undefined)
    expect([ids(), perhaps.length]).toEqual([[], 4_000])
    put('bulk', commandsFrom(10_001, 3, { notBefore: at(minute) }))
    await pass(2 * minute, 1_000)
    expect(ids()).toEqual([10_001, 10_002, 10_003])
  })

  test('each command is sent at most once and told of once, whatever is damaged and whenever the next owner comes', async () => {
    const command = fc.record({ dueIn: fc.integer({ min: 2, max: 30 }), size: fc.integer({ min: 1, max: 5 }) })
    const scenario = fc.record({
      waves: fc.array(command, { minLength: 1, maxLength: 6 }),
      damagedAfter: fc.integer({ min: 1, max: 20 }),
      takenOverAfter: fc.integer({ min: 1, max: 20 }),
      takes: fc.constantFrom(0, 300, 4_000),
    })
    await fc.assert(
      fc.asyncProperty(scenario, async ({ waves, damagedAfter, takenOverAfter, takes }) => {
        const world = await startDamagedWorld({ takes: () => takes })
        const { put, pass, posts, results, letters, takeOver, damage, tableEnd, in: at } = world
        let next = 1
        for (const { dueIn, size } of waves) {
          put('bulk', commandsFrom(next, size, { notBefore: at(dueIn * 1_000), delivery: 'AT_MOST_ONCE' }))
          next += size
        }
        await pass(1_000, 100)
        await pass(damagedAfter * 1_000, 500)
        const from = tableEnd()
        await pass(takenOverAfter * 1_000, 500)
        damage(from)
        await takeOver()
        await pass(3 * minute, 500)
        const ends = [
          ...results().flatMap(({ id, final }) => (final ? [Number(id)] : [])),
          ...letters().map(({ key }) => Number(String(key))),
        ]
        const sent = posts.flatMap(({ operations }) => operations.flatMap(one => (one.type === 'status' ? [] : one.id)))
        expect([sorted(sent), sorted(ends)]).toEqual([sorted([...new Set(sent)]), numbersFrom(1, next - 1)])
      }),
      { numRuns: 20 },
    )
  })
})

test('each command that waits is sent once, whatever others begin and end to wait before another owner comes', async () => {
  const scenario = fc.record({
    ids: fc.uniqueArray(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 3, maxLength: 6 }),
    dueIn: fc.integer({ min: 6, max: 10 }),
    everyMs: fc.integer({ min: 1_500, max: 4_000 }),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ ids: [first, ...others], dueIn, everyMs }) => {
      const { put, pass, ids, takeOver, in: at } = await startWorld()
      await pass(5_000, 1_000)
      put('bulk', commandsFrom(first!, 1, { notBefore: at(dueIn * 1_000) }))
      await pass(5_000, 1_000)
      for (const id of others) {
        await pass(everyMs, 50)
        put('bulk', commandsFrom(id, 1, { notBefore: at(hour) }))
        await pass(200, 50)
      }
      await pass(minute, 1_000)
      await takeOver()
      await pass(2 * hour, minute)
      expect(sorted(ids())).toEqual(sorted([first!, ...others]))
    }),
    { numRuns: 60 },
  )
})

test('what waited on another table is told of in a dead letter, once, and only if something did', async () => {
  const { put, pass, takeOver, in: at, letters, telemetry, broker } = await startWorld()
  broker.createTopics([{ topic: 'other', partitions: 1 }])
  const counted: number[] = []
  telemetry.on('deadLetter.published', ({ count }) => void counted.push(count))
  put('bulk', commandsFrom(1, 1, { notBefore: at(hour) }))
  await pass(1_000)
  put('bulk', commandsFrom(2, 1)) // commits where to read the table from
  await pass(1_000)
  await takeOver()
  expect(letters()).toEqual([])
  const settings = { topics: { later: 'other' } }
  await takeOver({ settings })
  await pass(1_000)
  await takeOver({ settings })
  await pass(1_000)
  const told = letters().map(({ headers }) => String(headers[errorHeaders.message]))
  expect(told).toEqual([
    expect.stringMatching(/^commands of bulk\/0 waited here, on another topic than other as it is now/),
  ])
  expect(counted).toEqual([1])
})

describe('if the table is deleted and made anew,', () => {
  test('its owner tells of each command that waited there and will not be sent, soon, and others wait on the new one', async () => {
    const { put, pass, ids, broker, lettersOf, letters, telemetry, outcomes, in: at } = await startWorld()
    const counted: number[] = []
    telemetry.on('deadLetter.published', ({ count }) => void counted.push(count))
    put('bulk', commandsFrom(1, 700, { notBefore: at(hour) }))
    await pass(5_000, 500)
    broker.recreate('later')
    put('bulk', commandsFrom(1_001, 3, { notBefore: at(hour) }))
    await pass(20_000, 500)
    expect(sorted(lettersOf().map(([offset]) => Number(offset)))).toEqual(numbersFrom(0, 700))
    expect(letters().filter(({ headers }) => errorHeaders.perhapsSent in headers)).toEqual([])
    expect(counted.reduce((sum, one) => sum + one, 0)).toBe(700)
    put('bulk', commandsFrom(1, 2)) // as their producer is told to do
    await pass(hour + minute, 5_000)
    expect([sorted(ids()), outcomes().length, lettersOf().length]).toEqual([[1, 2, 1_001, 1_002, 1_003], 5, 700])
  })

  test('no command is sent twice or told of twice or wrongly, whenever that happens and another owner comes', async () => {
    const wave = fc.record({ dueIn: fc.integer({ min: 2, max: 60 }), size: fc.integer({ min: 1, max: 5 }) })
    const scenario = fc.record({
      waves: fc.array(wave, { minLength: 1, maxLength: 8 }),
      recreatedAfter: fc.integer({ min: 0, max: 400 }),
      takenOverAfter: fc.option(fc.integer({ min: 0, max: 400 })),
      isResetLater: fc.boolean(),
      takes: fc.constantFrom(0, 300, 4_000),
    })
    await fc.assert(
      fc.asyncProperty(scenario, async ({ waves, recreatedAfter, takenOverAfter, isResetLater, takes }) => {
        const world = await startWorld({ takes: () => takes })
        const { put, pass, broker, posts, results, letters, takeOver, in: at, reset } = world
        let next = 1
        const produce = (some: typeof waves) => {
          for (const { dueIn, size } of some) {
            put('bulk', commandsFrom(next, size, { notBefore: at(dueIn * 1_000), delivery: 'AT_MOST_ONCE' }))
            next += size
          }
        }
        produce(waves.slice(0, waves.length / 2))
        await pass(recreatedAfter * 100, 100)
        broker.recreate('later')
        produce(waves.slice(waves.length / 2))
        if (takenOverAfter !== null) {
          await pass(takenOverAfter * 100, 100)
          await takeOver()
        }
        await pass(3 * minute, 500)
        if (isResetLater) {
          await takeOver({ meanwhile: () => reset(0) })
          await pass(10 * minute, 1_000)
        }
        const sent = posts.flatMap(({ operations }) => operations.flatMap(one => (one.type === 'status' ? [] : one.id)))
        const told = letters().filter(({ headers }) => headers[errorHeaders.topic] === 'bulk')
        const unsent = told.flatMap(({ key, headers }) =>
          errorHeaders.perhapsSent in headers ? [] : Number(String(key)),
        )
        const ends = [
          ...results().flatMap(({ id, final }) => (final ? [Number(id)] : [])),
          ...told.map(({ key }) => Number(String(key))),
        ]
        expect(sorted(sent)).toEqual(sorted([...new Set(sent)]))
        expect(unsent.filter(id => sent.includes(id))).toEqual([])
        if (takenOverAfter === null && !isResetLater) expect(unsent).toHaveLength(told.length)
        expect(sorted(ends)).toEqual(sorted([...new Set(ends)]))
        const isTableTold = letters().length > told.length
        if (!isTableTold) expect(sorted(ends)).toEqual(numbersFrom(1, next - 1))
        else expect(takenOverAfter !== null || isResetLater).toBe(true)
      }),
      { numRuns: 60 },
    )
  })
})

test('waits on a table of another name, after one whose log was longer', async () => {
  const { put, pass, ids, takeOver, in: at, broker } = await startWorld()
  broker.createTopics([{ topic: 'other', partitions: 1 }])
  put('bulk', commandsFrom(1, 50, { notBefore: at(minute) }))
  await pass(3 * minute, 1_000)
  put('bulk', commandsFrom(101, 5, { notBefore: at(hour) }))
  await pass(minute, 1_000)
  put('bulk', commandsFrom(99, 1)) // commits where to read the table from
  await pass(1_000)
  const settings = { topics: { later: 'other' } }
  await takeOver({ settings })
  put('bulk', commandsFrom(201, 5, { notBefore: at(hour) }))
  put('bulk', commandsFrom(1_001, 500, { notBefore: at(9 * hour) }))
  await pass(minute, 1_000)
  await takeOver({ settings })
  await pass(2 * hour, minute)
  expect(sorted(ids())).toEqual([...numbersFrom(1, 50), 99, ...numbersFrom(201, 5)])
})

test.each([
  ['by the next owner', false],
  ['by one that does not know where, after a reset', true],
])('what waits is found on its partition of a table that gets more partitions, %s', async (_, isReset) => {
  const { put, pass, ids, takeOver, in: at, broker, settings, letters } = await startWorld({ partitions: 2 })
  const wait = (from: number) => put('bulk', commandsFrom(from, 3, { notBefore: at(minute) }), 1)
  wait(1)
  await pass(1_000)
  const tp = { topic: 'bulk', partition: 1 }
  await takeOver({
    meanwhile() {
      broker.addPartitions('later', 2)
      if (isReset) broker.resetOffset(settings.kafka.groupId, tp, 0)
    },
  })
  wait(11)
  await pass(1_000)
  await takeOver()
  await pass(2 * minute, 1_000)
  expect([sorted(ids()), letters()]).toEqual([[1, 2, 3, 11, 12, 13], []])
})

test.each([
  ['that the log still has', false],
  ['that the log has lost', true],
])('copies that were sent are not sent again after a reset to behind their commands, %s', async (_, isCut) => {
  const { put, pass, ids, outcomes, takeOver, in: at, broker, reset } = await startWorld()
  put('bulk', commandsFrom(1, 3, { notBefore: at(minute) }))
  await pass(2 * minute, 1_000)
  await takeOver({
    meanwhile() {
      if (isCut) broker.cut({ topic: 'bulk', partition: 0 }, { start: 3 })
      reset(3)
    },
  })
  await pass(30_000, 1_000)
  expect([ids(), outcomes()]).toEqual([[1, 2, 3], [1, 2, 3].map(id => [id, 'SENT', null])])
})

test('commands that wait on several partitions of a restored table end once', async () => {
  const { put, pass, ids, outcomes, takeOver, in: at, broker, reset, control, clock } = await startWorld()
  put('bulk', commandsFrom(1, 2, { notBefore: at(hour), campaign: 'spring' }))
  await pass(1_000)
  await takeOver({
    meanwhile() {
      const [, { key, value, headers }] = broker.read({ topic: 'later', partition: 0 }, 0, 2).records as [
        BusRecord,
        BusRecord,
      ]
      broker.addPartitions('later', 2)
      broker.append(
        [
          { topic: 'later', partition: 1, key, value, headers },
          { topic: 'later', partition: 0, key, value: null },
        ],
        clock.now(),
      )
      reset(2)
    },
  })
  control(buildWithdrawal({ kind: 'campaign', name: 'spring' }))
  await pass(10_000, 1_000)
  const ended = [1, 2].map(id => [id, 'EXPIRED', 'WITHDRAWN'])
  expect(outcomes().toSorted()).toEqual(ended)
  await takeOver({ meanwhile: () => reset(2) })
  await pass(2 * hour, minute)
  expect([ids(), outcomes().toSorted()]).toEqual([[], ended])
})

test('a released copy that a reset skips ends with a dead letter of its own', async () => {
  const { put, pass, ids, takeOver, in: at, broker, reset, control, lettersOf, letters } = await startWorld()
  put('bulk', commandsFrom(1, 3, { notBefore: at(minute) }))
  await pass(1_000)
  control(buildPause({ kind: 'topic', name: 'bulk' }))
  await pass(2 * minute, 1_000)
  expect(ids()).toEqual([])
  await takeOver({ meanwhile: () => reset(broker.end({ topic: 'bulk', partition: 0 })) })
  control(buildResume({ kind: 'topic', name: 'bulk' }))
  await pass(10_000, 1_000)
  expect(lettersOf()).toEqual(
    expect.arrayContaining([
      [0, 'RECORDS_DELETED'],
      [1, 'RECORDS_DELETED'],
      [2, 'RECORDS_DELETED'],
    ]),
  )
  const perhapsSent = letters().map(({ headers }) => String(headers[errorHeaders.perhapsSent]))
  expect(perhapsSent.slice(-3)).toEqual(['true', 'true', 'true'])
})

test.each([1, 3])(
  'each of %i commands whose copies the log lost ends with a dead letter, and is not sent after a reset',
  async count => {
    const { put, pass, ids, takeOver, in: at, broker, reset, control, outcomes, letters } = await startWorld()
    put('bulk', commandsFrom(1, count, { notBefore: at(minute) }))
    await pass(1_000)
    const end = broker.end({ topic: 'bulk', partition: 0 })
    control(buildPause({ kind: 'topic', name: 'bulk' }))
    await pass(2 * minute, 1_000)
    await takeOver({ meanwhile: () => broker.cut({ topic: 'bulk', partition: 0 }, { end }) })
    await pass(10_000, 1_000)
    expect(letters().map(({ key }) => Number(key))).toEqual(numbersFrom(1, count))
    await takeOver({ meanwhile: () => reset(0) })
    control(buildResume({ kind: 'topic', name: 'bulk' }))
    await pass(30_000, 1_000)
    expect([ids(), outcomes()]).toEqual([[], []])
  },
)

test('an error of ours at the time of a command ends one session, and not the process', async () => {
  const { put, pass, ids, in: at, telemetry } = await startWorld()
  const faults: unknown[] = []
  telemetry.on('fault.contained', fault => void faults.push(fault))
  put('bulk', commandsFrom(1, 3, { notBefore: at(minute) }))
  await pass(1_000)
  const release = vi.spyOn(WaitingRows.prototype, 'release').mockImplementationOnce(() => {
    throw new Error('a bug')
  })
  onTestFinished(() => release.mockRestore())
  await pass(3 * minute, 1_000)
  expect(faults).toHaveLength(1)
  expect(sorted(ids())).toEqual([1, 2, 3])
})

test('what a killed worker whose clock was ahead perhaps sent does not wait again after a reset', async () => {
  const {
    put,
    pass,
    ids,
    takeOver,
    clock,
    in: at,
    reset,
    outcomes,
  } = await startWorld({
    takes: ({ ids }) => (ids.includes(2) ? Number.POSITIVE_INFINITY : 0),
  })
  put('bulk', commandsFrom(1, 1))
  await pass(1_000)
  put('bulk', commandsFrom(2, 1, { notBefore: at(-500) }))
  await pass(1_000)
  await takeOver({
    meanwhile() {
      reset(0)
      clock.step(-5_000)
    },
  })
  await pass(20_000, 1_000)
  expect(ids()).toEqual([1, 2])
  expect(outcomes().at(-1)).toEqual([2, 'IN_DOUBT', 'RESPONSE_LOST'])
})

test('an account that is paused holds back no due command of any other, on the same partition', async () => {
  const others = numbersFrom(10_001, 300)
  const accounts = Object.fromEntries(['default', ...others.map(id => `shop${id}`)].map(name => [name, undefined]))
  const { put, pass, control, sent, in: at } = await startWorld({ accounts })
  control(buildPause({ kind: 'account', name: 'default' }))
  put('bulk', commandsFrom(1, 5_000, { notBefore: at(minute) }))
  for (const id of others) put('bulk', commandsFrom(id, 1, { notBefore: at(2 * minute), account: `shop${id}` }))
  await pass(3 * minute, 1_000)
  expect(others.filter(id => !sent(`shop${id}`).includes(id))).toEqual([])
  control(buildResume({ kind: 'account', name: 'default' }))
  await pass(2 * minute, 1_000)
  expect(sorted(sent('default'))).toEqual(numbersFrom(1, 5_000))
})

test('what came after the withdrawal of its campaign is not read until it is due', async () => {
  const { put, pass, control, in: at, bus } = await startWorld()
  const recordsAt = vi.spyOn(bus, 'recordsAt')
  control(buildWithdrawal({ until: at(0) }))
  await pass(2_000)
  for (let i = 0; i < 3; i++) {
    put('bulk', commandsFrom(1 + 100 * i, 100, { notBefore: at(hour), campaign: 'spring' }))
    await pass(500)
  }
  control(buildPause({ kind: 'campaign', name: 'summer' }))
  await pass(1_000)
  expect(recordsAt).not.toHaveBeenCalled()
})

test('what a paused campaign holds is looked through when pauses change, and not at each withdrawal of another message', async () => {
  const { put, pass, control, ids } = await startWorld()
  const pause = { kind: 'campaign', name: 'spring' } as const
  control(buildPause(pause))
  await pass(1_000)
  put('bulk', commandsFrom(1, 3, { campaign: 'spring' }))
  await pass(1_000)
  const review = vi.spyOn(WaitingRows.prototype, 'review')
  onTestFinished(() => review.mockRestore())
  for (let id = 101; id < 104; id++) {
    control(buildWithdrawal({ kind: 'message', name: `default/${id}` }))
    await pass(1_000)
  }
  control(buildPause({ kind: 'account', name: 'other' }))
  await pass(1_000)
  expect(review).not.toHaveBeenCalled()
  control(buildResume(pause))
  await pass(1_000)
  expect(ids()).toEqual([1, 2, 3])
})

test('a doubt is not sent again before its time, whatever the clock of the worker that perhaps sent it', async () => {
  const isSend = ({ operations }: Post) => operations.some(({ type }) => type !== 'status')
  const {
    put,
    pass,
    posts,
    takeOver,
    clock,
    in: at,
  } = await startWorld({
    takes: post => (isSend(post) ? Number.POSITIVE_INFINITY : 0),
  })
  put('bulk', commandsFrom(1, 1, { notBefore: at(-500), delivery: 'AT_LEAST_ONCE' }))
  await pass(1_000)
  await takeOver({ meanwhile: () => clock.step(-10 * minute) })
  await pass(9 * minute, 1_000)
  expect(posts.filter(isSend)).toHaveLength(1)
  await pass(3 * minute, 1_000)
  expect(posts.filter(isSend).length).toBeGreaterThan(1)
})

describe('the table of later commands', () => {
  test('may be written by brokers that do not say where: each command is found there, and sent once', async () => {
    const { put, pass, ids, in: at, broker, bus, control, outcomes, takeOver } = await startWorld()
    const write = broker.write.bind(broker)
    broker.write = (producer, transaction, now) =>
      write(producer, { ...transaction, records: transaction.records.map(({ written, ...one }) => one) }, now)
    vi.spyOn(bus, 'search').mockRejectedValueOnce(new Error('no leader'))
    for (const first of [1, 11]) {
      put('bulk', commandsFrom(first, 3, { notBefore: at(minute) }))
      put('bulk', commandsFrom(first + 5, 2, { notBefore: at(minute), campaign: 'spring' }))
      await pass(1_000)
    }
    expect(ids()).toEqual([])
    control(buildWithdrawal())
    await pass(1_000)
    expect(outcomes().map(([id, , code]) => [id, code])).toEqual([6, 7, 16, 17].map(id => [id, 'WITHDRAWN']))
    await pass(2 * minute, 1_000)
    expect(sorted(ids())).toEqual([1, 2, 3, 11, 12, 13])
    await takeOver()
    await pass(minute, 1_000)
    expect(ids()).toHaveLength(6)
  })

  test.each<[string, () => Promise<{ records: BusRecord[]; readable: number }>]>([
    ['cannot be read', () => Promise.reject(new Error('no leader'))],
    ['cannot be read to its end', async () => ({ records: [], readable: 0 })],
  ])('that %s for a while lets all wait, and ends nothing', async (_, read) => {
    const { put, pass, ids, in: at, bus, control, outcomes, letters } = await startWorld()
    put('bulk', commandsFrom(1, 3, { notBefore: at(minute) }))
    put('bulk', commandsFrom(11, 3, { notBefore: at(hour), campaign: 'spring' }))
    await pass(1_000)
    const recordsAt = vi.spyOn(bus, 'recordsAt').mockImplementation(read)
    control(buildWithdrawal())
    await pass(2 * minute, 1_000)
    expect([ids(), outcomes(), letters()]).toEqual([[], [], []])
    recordsAt.mockRestore()
    await pass(2_000)
    expect(sorted(ids())).toEqual([1, 2, 3])
    expect(outcomes().flatMap(([id, , code]) => (code === 'WITHDRAWN' ? id : []))).toEqual([11, 12, 13])
    await pass(2 * hour, minute)
    expect([ids().length, letters()]).toEqual([3, []])
  })

  test('that lost the records of some: these end with a dead letter that doubts, and the others are sent', async () => {
    const { put, pass, ids, in: at, bus, letters, takeOver } = await startWorld()
    put('bulk', commandsFrom(1, 5, { notBefore: at(minute) }))
    await pass(1_000)
    const recordsAt = bus.recordsAt.bind(bus)
    vi.spyOn(bus, 'recordsAt').mockImplementation(async (tp, offsets) => {
      const { records, readable } = await recordsAt(tp, offsets)
      return { records: records.filter((_, i) => i !== 1 && i !== 2), readable }
    })
    await pass(2 * minute, 1_000)
    expect(sorted(ids())).toEqual([1, 4, 5])
    expect(letters()).toMatchObject(
      [1, 2].map(offset => ({
        ...{ key: Buffer.from(String(offset + 1)), value: null },
        headers: {
          [errorHeaders.code]: 'RECORDS_DELETED',
          [errorHeaders.topic]: 'bulk',
          [errorHeaders.offset]: String(offset),
          [errorHeaders.timestamp]: '-1',
          [errorHeaders.perhapsSent]: 'true',
        },
      })),
    )
    await takeOver()
    await pass(minute, 1_000)
    expect([ids().length, letters().length]).toEqual([3, 2])
  })
})

test('retention that deletes released copies before anybody knows their account ends each with a dead letter', async () => {
  const { put, pass, ids, in: at, broker, letters, takeOver, entries } = await startWorld()
  put('bulk', commandsFrom(1, 3, { account: 'stranger', notBefore: at(minute) }))
  await pass(2 * minute, 1_000)
  const bulk = { topic: 'bulk', partition: 0 }
  broker.cut(bulk, { start: broker.end(bulk) })
  put('bulk', commandsFrom(9, 1))
  await pass(minute, 1_000)
  const lettersOfCopies = () =>
    letters()
      .filter(({ key }) => Number(key) > 0)
      .map(({ key, headers }) => [
        Number(key),
        Number(headers[errorHeaders.offset]),
        String(headers[errorHeaders.code]),
        headers[errorHeaders.perhapsSent],
      ])
  const expected = [1, 2, 3].map(id => [id, id - 1, 'RECORDS_DELETED', undefined])
  expect(lettersOfCopies()).toEqual(expected)
  expect(entries().slice(-3)).toMatchObject([1n, 2n, 3n].map(id => ({ key: { id }, state: 'over' })))
  await takeOver()
  await pass(minute, 1_000)
  expect(lettersOfCopies()).toEqual(expected)
  expect(ids()).toEqual([9])
})

test('the withdrawal of a campaign ends all of its thousands that wait, and no other', async () => {
  const { put, pass, ids, in: at, control, outcomes } = await startWorld()
  put('bulk', commandsFrom(1, 3_000, { notBefore: at(hour), campaign: 'spring' }))
  put('bulk', commandsFrom(3_001, 100, { notBefore: at(hour) }))
  put('bulk', commandsFrom(3_101, 2_000, { notBefore: at(hour), campaign: 'spring' }))
  await pass(10_000)
  control(buildWithdrawal())
  await pass(5_000)
  const withdrawn = outcomes().flatMap(([id, , code]) => (code === 'WITHDRAWN' ? Number(id) : []))
  expect(sorted(withdrawn)).toEqual([...numbersFrom(1, 3_000), ...numbersFrom(3_101, 2_000)])
  await pass(hour, minute)
  expect(sorted(ids())).toEqual(numbersFrom(3_001, 100))
})

test('a command that becomes due while its withdrawal is looked up has one result', async () => {
  const slow = Promise.withResolvers<void>()
  let [isWithdrawn, reads] = [false, 0]
  const {
    put,
    pass,
    ids,
    outcomes,
    control,
    in: at,
    telemetry,
  } = await startWorld({
    hop: async (step, way) => {
      if (isWithdrawn && way === 'there' && step === 'look up later/0' && ++reads === 1) await slow.promise
    },
  })
  const lost: unknown[] = []
  telemetry.on('session.lost', event => void lost.push(event))
  telemetry.on('session.closed', event => void lost.push(event))
  put('bulk', commandsFrom(1, 1, { notBefore: at(minute), campaign: 'spring' }))
  await pass(minute - 2_000, 1_000)
  isWithdrawn = true
  control(buildWithdrawal({ kind: 'campaign', name: 'spring' }))
  await pass(1_000)
  expect([reads, outcomes()]).toEqual([1, []])
  await pass(5_000)
  expect([reads, outcomes()]).toEqual([2, [[1, 'EXPIRED', 'WITHDRAWN']]])
  slow.resolve()
  await pass(5_000)
  put('bulk', commandsFrom(2, 1))
  await pass(1_000)
  expect([ids(), outcomes().length, lost]).toEqual([[2], 2, []])
})

test('a command that is withdrawn while it is read to be sent has one result', async () => {
  const slow = Promise.withResolvers<void>()
  let [isDue, reads] = [false, 0]
  const {
    put,
    pass,
    ids,
    outcomes,
    control,
    in: at,
    telemetry,
  } = await startWorld({
    hop: async (step, way) => {
      if (isDue && way === 'there' && step === 'look up later/0' && ++reads === 1) await slow.promise
    },
  })
  const lost: unknown[] = []
  telemetry.on('session.lost', event => void lost.push(event))
  put('bulk', commandsFrom(1, 1, { notBefore: at(minute), campaign: 'spring' }))
  await pass(minute - 2_000, 1_000)
  isDue = true
  await pass(5_000)
  expect([reads, outcomes()]).toEqual([1, []])
  control(buildWithdrawal({ kind: 'campaign', name: 'spring' }))
  await pass(5_000)
  expect([reads, outcomes()]).toEqual([2, [[1, 'EXPIRED', 'WITHDRAWN']]])
  slow.resolve()
  await pass(5_000)
  expect([ids(), outcomes(), lost]).toEqual([[], [[1, 'EXPIRED', 'WITHDRAWN']], []])
})

test('a command that is being sent while a withdrawal that ended and came back looks it up has one result', async () => {
  const slow = Promise.withResolvers<void>()
  const committed = Promise.withResolvers<void>()
  let [isWithdrawn, isHeld, reads] = [false, false, 0]
  const {
    put,
    pass,
    ids,
    outcomes,
    control,
    in: at,
  } = await startWorld({
    hop: async (step, way) => {
      if (way !== 'there') return
      if (isWithdrawn && step === 'look up later/0' && ++reads === 1) await slow.promise
      if (isHeld && step.startsWith('commit')) await committed.promise
    },
  })
  const withdrawal = buildWithdrawal({ kind: 'campaign', name: 'spring' })
  put('bulk', commandsFrom(1, 1, { notBefore: at(minute), campaign: 'spring' }))
  await pass(minute - 5_000, 1_000)
  isWithdrawn = true
  control(withdrawal)
  await pass(1_000)
  control({ ...withdrawal, begins: false })
  isHeld = true
  await pass(8_000)
  expect([reads, outcomes()]).toEqual([2, []]) // its copy is being committed
  control(withdrawal)
  await pass(1_000)
  slow.resolve()
  await pass(1_000)
  committed.resolve()
  await pass(minute, 1_000)
  expect([ids(), outcomes()]).toEqual([[], [[1, 'EXPIRED', 'WITHDRAWN']]])
})
