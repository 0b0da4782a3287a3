import { expect, test, vi } from 'vitest'
import { writeChange } from '../../src/control/change.ts'
import { errorHeaders } from '../../src/records/dead-letter.ts'
import { readLater } from '../../src/records/later.ts'
import { until } from '../support/bus.ts'
import { buildCommand, commandsFrom } from '../support/commands.ts'
import { buildPause } from '../support/control.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { openAdmin } from '../support/kafka.ts'
import { openWired } from '../support/wires.ts'
import { outcomesOf, startWorld } from '../support/worker.ts'

/*
 * The rows of the table in docs/delivery.md, "When the progress is reset"; overdue messages are in reconciler.test.ts. Commands 1 to 3 are done. 11 is in doubt, 21 in
 * flight, and 31 waits, because its account is paused. 51 and 52 wait for tomorrow. The gateway has executed 11 and 21, and tells so if it is asked. All of these are to
 * be sent at most once.
 */

type Topic = 'commands' | 'doubts' | 'results' | 'statuses' | 'control' | 'deadLetters' | 'later'

const once = { delivery: 'AT_MOST_ONCE' } as const
const waitMs = { timeout: 60_000, interval: 100 }

async function startStage(brokers: Brokers) {
  const world = await startWorld({
    brokers,
    // no callback resolves a doubt before the change
    sandbox: { callbackDelayMs: 3_600_000, keys: { default: 'sandbox-key', acme: 'acme-key' } },
    settings: {
      kafka: { startFrom: 'earliest', sessionTimeoutMs: 6000 },
      gateway: { timeoutMs: 6000, accounts: { acme: { apiKey: 'acme-key' } } },
      doubts: { waitMs: 3500, polls: 1 },
    },
  })
  await world.worker.close()
  const { groupId } = world.settings.kafka
  let kill = () => {}
  await world.startWorker(telemetry => {
    const { bus, cut } = openWired({ brokers: brokers.brokers, groupId, telemetry })
    kill = cut
    return bus
  })
  const admin = await openAdmin(brokers.brokers)
  const { topics } = world.settings
  const nameOf = (use: Topic) => [topics[use]].flat().at(-1)!

  const publisher = await world.bus.publisher()
  await publisher.publish([writeChange(topics.control, buildPause({ kind: 'account', name: 'acme' }))])
  await publisher.close()
  await world.send(commandsFrom(1, 3))
  await world.finished(3)
  world.sandbox.faults.next('reset-after')
  await world.send([buildCommand({ id: 11n, ...once })])
  await until(() => expect(outcomesOf(world, 11n)).toEqual(['IN_DOUBT for now']))
  await world.send([buildCommand({ id: 31n, account: 'acme', ...once })])
  world.sandbox.faults.next('stall')
  await world.send([buildCommand({ id: 21n, ...once })])
  await until(() => expect(world.sandbox.executions(21)).toBe(1))
  /** Number of commands that wait for their time. */
  const later = async () => {
    const states = new Map<string, string>()
    const reader = await world.bus.read([topics.later], 'earliest', (_, records) => {
      for (const record of records) states.set(String(record.key), readLater(record)!.state)
    })
    await reader.caughtUp()
    await reader.close()
    return [...states.values()].filter(state => state === 'waits').length
  }
  await world.send(commandsFrom(51, 2, { ...once, notBefore: Date.now() + 86_400_000 }))
  await until(async () => expect(await later()).toBe(2))

  return {
    later,
    world,
    admin,
    /** Kills the worker, and waits until the group has no member. */
    async kill() {
      kill()
      await vi.waitFor(async () => {
        const { groups } = await admin.describeGroups([groupId])
        expect(groups[0]!.state).toBe('Empty')
      }, waitMs)
    },
    async moveOffsets(toOffset: (end: number) => number) {
      for (const topic of [nameOf('commands'), topics.doubts]) {
        const [{ high = '0' } = {}] = await admin.fetchTopicOffsets(topic)
        const partitions = [{ partition: 0, offset: String(toOffset(Number(high))) }]
        await admin.setOffsets({ groupId, topic, partitions })
      }
    },
    deleteGroup: () => vi.waitFor(() => admin.deleteGroups([groupId]), waitMs),
    async makeAnew(use: Topic) {
      const topic = nameOf(use)
      const idOf = async () => (await world.bus.lookAt(topic))?.id
      const before = await idOf()
      await admin.deleteTopics({ topics: [topic] })
      await vi.waitFor(async () => {
        const configEntries = use === 'later' ? [{ name: 'cleanup.policy', value: 'compact' }] : []
        await admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] })
        expect(await idOf()).not.toBe(before)
      }, waitMs)
    },
    /** The ranges that dead letters tell of, by code. */
    ranges: () =>
      world
        .deadLetters()
        .map(({ headers: { [errorHeaders.code]: code, ...headers } }) => {
          const [first, last = first] = [headers[errorHeaders.offset], headers[errorHeaders.lastOffset]]
          return [`${code}`, `${headers[errorHeaders.topic]}`, Number(first), Number(last)] as const
        })
        .sort((one, other) => one[2] - other[2]),
    nameOf,
  }
}

type Stage = Awaited<ReturnType<typeof startStage>>

interface Row {
  what: string
  change: (stage: Stage) => Promise<unknown>
  /** Outcomes of the commands in doubt, in flight and waiting; none if it waits on, or gets no result. */
  ends: { doubt: string[]; flight: string[]; waiting: string[] }
  /** The ranges that dead letters tell of: code, topic, first and last offset. */
  told?: [code: string, topic: Topic, first: number, last: number][]
  /** Number of commands that still wait for their time. Default: both. */
  later?: number
  /** Whether results tell of them anyway, so that a worker need not. */
  isToldByResults?: true
}

const sent = ['IN_DOUBT for now', 'SENT']
const unresolved = ['IN_DOUBT for now', 'UNRESOLVED']

/** Waits for these outcomes, and expects that other commands are sent, and nothing is executed twice or told besides. */
async function expectRow(stage: Stage, { ends, told = [], later = 2, isToldByResults }: Row): Promise<void> {
  const { world, ranges, nameOf } = stage
  const outcomes = () => [11n, 21n, 31n, 51n, 52n].map(id => outcomesOf(world, id))
  const expected = [ends.doubt, ends.flight, ends.waiting, [], []]
  await vi.waitFor(() => expect(outcomes()).toEqual(expected), waitMs)
  await world.send([buildCommand({ id: 41n })])
  await vi.waitFor(() => expect(outcomesOf(world, 41n).at(-1)).toBe('SENT'), waitMs)
  await vi.waitFor(async () => expect(await stage.later()).toBe(later), waitMs)
  if (later === 0) await vi.waitFor(() => expect(ranges()).toHaveLength(told.length), waitMs)
  await world.quiet()
  expect(outcomes()).toEqual(expected)
  const expectedRanges = told.map(([code, topic, first, last]) => [code, nameOf(topic), first, last])
  expect(isToldByResults ? [[], expectedRanges] : [expectedRanges]).toContainEqual(ranges())
  expect(world.sandbox.stats()).toMatchObject({ executed: ends.waiting.at(-1) === 'SENT' ? 7 : 6, billedTwice: 0 })
}

const asUsual = { doubt: sent, flight: sent, waiting: [] }
/** What has no answer may have been in flight, also what waited. */
const forgotten = { doubt: sent, flight: sent, waiting: unresolved }

const ofKilled: Row[] = [
  { what: 'its group is deleted', change: stage => stage.deleteGroup(), ends: forgotten },
  { what: 'the offsets are reset to the earliest', change: stage => stage.moveOffsets(() => 0), ends: forgotten },
  {
    what: 'the offsets are reset to a time',
    change: stage => stage.moveOffsets(() => 2),
    ends: forgotten,
    told: [['RECORDS_SKIPPED', 'commands', 0, 1]],
  },
  {
    what: 'the offsets are reset to the latest',
    change: stage => stage.moveOffsets(end => end),
    ends: { doubt: sent, flight: [], waiting: [] },
    told: [['RECORDS_SKIPPED', 'commands', 0, 7]],
  },
  {
    what: 'the offsets are set beyond the end',
    change: stage => stage.moveOffsets(end => end + 100),
    ends: forgotten,
  },
  {
    what: 'the topic of waiting commands is made anew',
    change: stage => stage.makeAnew('later'),
    ends: asUsual,
    told: [['RECORDS_DELETED', 'later', 0, 0]],
    later: 0,
  },
]

const ofRunning: Row[] = [
  {
    what: 'commands',
    change: stage => stage.makeAnew('commands'),
    ends: asUsual,
    told: [['RECORDS_DELETED', 'commands', 4, 4]],
  },
  {
    what: 'doubts',
    change: stage => stage.makeAnew('doubts'),
    ends: { ...asUsual, doubt: unresolved },
    told: [['RECORDS_DELETED', 'doubts', 0, 1]],
    isToldByResults: true,
  },
  { what: 'results', change: stage => stage.makeAnew('results'), ends: asUsual },
  { what: 'statuses', change: stage => stage.makeAnew('statuses'), ends: asUsual },
  { what: 'control', change: stage => stage.makeAnew('control'), ends: { ...asUsual, waiting: ['SENT'] } },
  {
    what: 'later',
    change: stage => stage.makeAnew('later'),
    ends: asUsual,
    told: [6, 7].map(offset => ['RECORDS_DELETED', 'commands', offset, offset]),
    later: 0,
  },
  { what: 'dead letters', change: stage => stage.makeAnew('deadLetters'), ends: asUsual },
]

describeOnKafka('while a worker runs, a topic is deleted and made anew:', brokers => {
  test.each(ofRunning)(
    '$what',
    async row => {
      const stage = await startStage(brokers)
      await row.change(stage)
      await expectRow(stage, row)
    },
    120_000,
  )
})

describeOnKafka('a worker that was killed, after which', brokers => {
  test.each(ofKilled)(
    '$what',
    async row => {
      const stage = await startStage(brokers)
      await stage.kill()
      await row.change(stage)
      await stage.world.startWorker()
      await expectRow(stage, row)
    },
    120_000,
  )
})
