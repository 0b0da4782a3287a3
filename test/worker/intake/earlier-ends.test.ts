import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Bus, BusRecord, Session, TopicPartition } from '../../../src/bus/port.ts'
import { deadLetter } from '../../../src/records/dead-letter.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { SendCommand, SendResult } from '../../../src/records/generated.ts'
import { embeddedRegistry } from '../../../src/records/registry.ts'
import { schemas, subjectOf } from '../../../src/records/schemas.ts'
import { EarlierEnds, type RepeatedId } from '../../../src/worker/intake/earlier-ends.ts'
import { ManualClock } from '../../support/clock.ts'
import { buildResult } from '../../support/results.ts'

const own = { topic: 'commands', partition: 1 }
const topics = { results: 'results', deadLetters: 'dead-letters' }
const registry = embeddedRegistry()
const encode = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)

/** An end of some record with the id 1 or 2, on one of two partitions of its topic. */
const place = {
  id: fc.integer({ min: 1, max: 2 }),
  of: fc.constantFrom(own, { ...own, partition: 0 }, { ...own, topic: 'others' }),
  at: fc.integer({ min: 0, max: 1 }),
}
const anyResult = fc.record({
  kind: fc.constant('result' as const),
  ...place,
  account: fc.constantFrom('default', 'other'),
  outcome: fc.constantFrom(
    ...(['SENT', 'REJECTED', 'IN_DOUBT', 'UNRESOLVED', 'INVALID', 'EXPIRED', 'DUPLICATE'] as const),
  ),
})
const anyLetter = fc.record({
  kind: fc.constant('letter' as const),
  ...place,
  offset: fc.integer({ min: 10, max: 12 }),
  copyAt: fc.constantFrom(10, 11, undefined),
  perhapsSent: fc.boolean(),
  /** Not every command has its id as key. */
  isKeyed: fc.boolean(),
})
type End = typeof anyResult | typeof anyLetter extends fc.Arbitrary<infer T> ? T : never

function recordOf(end: End): Omit<BusRecord, 'offset' | 'timestamp'> {
  if (end.kind === 'result') {
    const { id, account, outcome, of } = end
    const result = { id: BigInt(id), account, outcome, commandTopic: of.topic, commandPartition: of.partition }
    return { key: Buffer.from(String(id)), value: encode(buildResult(result)), headers: {} }
  }
  const { id, of, offset, copyAt, perhapsSent, isKeyed } = end
  const record = { offset, timestamp: 5, key: Buffer.from(isKeyed ? String(id) : 'x'), value: null, headers: {} }
  const origin = { ...of, record, ...(copyAt !== undefined && { copyAt }) }
  const { headers = {} } = deadLetter('x', origin, { code: 'DECODE', message: 'why', perhapsSent })
  return { key: record.key, value: null, headers }
}

interface Log {
  records: BusRecord[]
  /** Offset of its first record. */
  start: number
  /** Offset of the first record whose transaction is still being completed. */
  open: number
  unreadable: number
}

const logOf = (): Log => ({ records: [], start: 0, open: Number.POSITIVE_INFINITY, unreadable: 0 })

/** Logs that are searched as a broker's. A transaction that is being completed is visible a while after the first look. */
function startEnds(ends: readonly End[], hidden: number) {
  const clock = new ManualClock()
  const logs = new Map<string, Log>()
  const nameOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`
  for (const topic of Object.values(topics))
    for (const partition of [0, 1]) logs.set(nameOf({ topic, partition }), logOf())
  const log = (topic: string, partition: number) => logs.get(nameOf({ topic, partition }))!
  for (const [i, end] of ends.entries()) {
    const one = log(end.kind === 'result' ? topics.results : topics.deadLetters, end.at)
    if (ends.length - i <= hidden) one.open = Math.min(one.open, one.records.length)
    one.records.push({ ...recordOf(end), offset: one.records.length, timestamp: clock.now() })
  }
  const search: Bus['search'] = async (tp, { from, needles, isolation, take }) => {
    const { records, start, open, unreadable } = logs.get(nameOf(tp))!
    const first = typeof from === 'object' ? from.offset : start
    const until = isolation === 'uncommitted' ? records.length : Math.min(records.length, open)
    const keys = needles?.flatMap(one => ('key' in one ? String(one.key) : []))
    await take?.(
      records.filter(({ offset, key }) => offset >= first && offset < until && (!keys || keys.includes(String(key)))),
    )
    return { ...tp, from: first, until, start, since: null, unreadable }
  }
  const partitions = async () => new Map(Object.values(topics).map(topic => [topic, 2]))
  const resultDecoder = createDecoder<SendResult>(schemas.result, registry)
  const commandDecoder = createDecoder<SendCommand>(schemas.command, registry)
  const found = new EarlierEnds({ bus: { search, partitions }, topics, resultDecoder, commandDecoder, clock })
  const session = { ...own, alive: true } as Session & { alive: boolean }
  const ask = async (repeated: readonly RepeatedId[]) => {
    let uses: ((one: RepeatedId) => string) | undefined
    void found.usesOf(session, repeated, clock.now()).then(found => {
      uses = found
    })
    for (let looks = 0; !uses && looks < 200; looks++) {
      await clock.pass(100)
      if (looks === 3) for (const one of logs.values()) one.open = Number.POSITIVE_INFINITY
    }
    return repeated.map(one => uses!(one))
  }
  return { ask, log, session, clock, logs }
}

const repeatedId = (id: number, earlier: number, replayOf: number | null = null): RepeatedId => ({
  ...own,
  id: BigInt(id),
  account: 'default',
  earlier,
  isOnly: true,
  replayOf,
})

/** Whether an end says that the id of the earlier record is used. */
function isUse(end: End, { id, account, earlier, replayOf }: RepeatedId): boolean {
  if (end.of !== own) return false
  if (end.kind === 'letter') {
    const isAbout = (end.isKeyed && BigInt(end.id) === id) || end.offset === earlier || end.copyAt === earlier
    return end.perhapsSent && end.offset !== replayOf && isAbout
  }
  const hasUse = end.outcome !== 'INVALID' && end.outcome !== 'EXPIRED' && end.outcome !== 'DUPLICATE'
  return hasUse && BigInt(end.id) === id && end.account === account
}

test('an id is used if a result of its partition or a dead letter says so, also one of a commit that is being completed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(anyResult, anyLetter), { maxLength: 6 }),
      fc.nat(2),
      fc.integer({ min: 10, max: 12 }),
      fc.constantFrom(null, 10, 11),
      async (ends, hidden, earlier, replayOf) => {
        const repeated = [repeatedId(1, earlier, replayOf), repeatedId(2, 12)]
        const expected = repeated.map(one => (ends.some(end => isUse(end, one)) ? 'used' : 'unused'))
        expect(await startEnds(ends, hidden).ask(repeated)).toEqual(expected)
      },
    ),
  )
})

const sent = { kind: 'result', id: 1, of: own, at: 0, account: 'default', outcome: 'SENT' } as const

test.each<[string, (world: ReturnType<typeof startEnds>) => void]>([
  ['older results were deleted', ({ log }) => Object.assign(log('results', 0), { start: 1 })],
  ['older dead letters were deleted', ({ log }) => Object.assign(log('dead-letters', 1), { start: 1 })],
  ['a batch of the results is damaged', ({ log }) => Object.assign(log('results', 1), { unreadable: 1 })],
  [
    'a result with the id cannot be decoded',
    ({ log }) =>
      void log('results', 1).records.push({ ...recordOf(sent), value: Buffer.alloc(3), offset: 0, timestamp: 0 }),
  ],
  ['a topic is missing', ({ logs }) => logs.clear()],
])('it is unknown what became of an id if %s, but a use that is found counts', async (_, spoil) => {
  const world = startEnds([{ ...sent, id: 2 }], 0)
  spoil(world)
  const isFound = world.logs.size > 0 && world.log('results', 0).start === 0
  expect(await world.ask([repeatedId(1, 10), repeatedId(2, 11)])).toEqual(['unknown', isFound ? 'used' : 'unknown'])
})

test.each([
  ['INVALID', 10, true, 'unused'],
  ['EXPIRED', 10, true, 'unused'],
  ['INVALID', 10, false, 'unknown'],
  ['INVALID', 11, true, 'unknown'],
  ['DUPLICATE', 10, true, 'unknown'],
  ['SENT', 10, true, 'used'],
] as const)(
  'if older dead letters were deleted, the result %s at %i of the record (the only one: %s) tells that its id is %s',
  async (outcome, at, isOnly, use) => {
    const world = startEnds([], 0)
    Object.assign(world.log('dead-letters', 1), { start: 1 })
    const result = { id: 1n, outcome, commandTopic: own.topic, commandPartition: own.partition, commandOffset: at }
    const record = { key: Buffer.from('1'), value: encode(buildResult(result)), headers: {}, offset: 0, timestamp: 0 }
    world.log('results', 0).records.push(record)
    expect(await world.ask([{ ...repeatedId(1, 10), isOnly }])).toEqual([use])
  },
)

test('it is unknown what became of an id if the commit of an end is not completed within ten seconds', async () => {
  const world = startEnds([sent], 1)
  Object.defineProperty(world.log('results', 0), 'open', { get: () => 0, set() {} })
  const began = world.clock.monotonic()
  expect(await world.ask([repeatedId(1, 10)])).toEqual(['unknown'])
  expect(world.clock.monotonic() - began).toBeGreaterThanOrEqual(10_000)
})
