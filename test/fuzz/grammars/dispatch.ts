import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Answer } from '../../../src/gateway/connection.ts'
import { errorHeaders } from '../../../src/records/dead-letter.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../../src/records/registry.ts'
import { schemas } from '../../../src/records/schemas.ts'
import { recordOf } from '../../records/codec.ts'
import { Random } from '../../simulation/random.ts'
import { itemsAnswer, refusedItem, sentItem } from '../../support/answers.ts'
import { BrokerWithDamagedBatches, buildDamagedBatch } from '../../support/damaged-batches.ts'
import { type Operation, startSendingWorld } from '../../support/sending.ts'
import { BodyWriter, damaged } from '../avro/body.ts'
import { Evolution } from '../avro/evolve.ts'
import { schemaOf, typeOf } from '../avro/type.ts'
import { grammarOf } from '../grammar.ts'
import { hostileText } from './json-text.ts'

const minute = 60_000
/** Ids of the valid commands begin here; a command's id is this and its offset. */
const firstId = 7_000_000_000_000
/** Commands of unknown accounts end by their age. */
const commands = { maxAgeMs: 5 * minute }

const timestamp = fc.oneof(
  fc.constant(-1),
  fc.constantFrom(-1, 0, 2 ** 53 - 1, 2 ** 53, 8.64e15, 1.78e15, 1.78e18, 2 ** 63, -(2 ** 63)),
  fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map(date => date.getTime()),
)
const headerName = fc.oneof(
  hostileText,
  fc.constantFrom('traceparent', 'tracestate', ...Object.values(errorHeaders)),
  fc.constantFrom('busgate.lifetime', 'busgate.replayed.from', 'busgate.replayed.record'),
)
const bytes = fc.uint8Array({ maxLength: 40 }).map(Buffer.from)
const headers = fc
  .array(fc.tuple(headerName, fc.oneof(bytes, fc.array(bytes, { maxLength: 300 }))), { maxLength: 10 })
  .map(pairs => Object.fromEntries(pairs))

/** Bytes or none, a valid command, the record of an evolved schema, or a batch that is damaged. */
type Value = Buffer | null | 'AT_MOST_ONCE' | 'AT_LEAST_ONCE' | { seed: number } | 'damaged'
const value = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('AT_MOST_ONCE' as const, 'AT_LEAST_ONCE' as const) },
  { weight: 4, arbitrary: fc.nat().map(seed => ({ seed })) },
  { weight: 2, arbitrary: fc.option(bytes) },
  { weight: 1, arbitrary: fc.constant('damaged' as const) },
) as fc.Arbitrary<Value>

const written = fc.record({ timestamp, headers, key: fc.option(bytes), value })
/** What happens in turns: records are appended; then the worker works for some milliseconds, and perhaps is killed. */
const turn = fc.record({
  records: fc.array(written, { maxLength: 10 }),
  ms: fc.oneof(fc.nat(500), fc.nat(20_000)),
  isKilled: fc.boolean(),
})
const turns = fc.array(turn, { minLength: 1, maxLength: 4 })

type Turns = typeof turns extends fc.Arbitrary<infer T> ? T : never
type Written = Turns[number]['records'][number]
type World = Awaited<ReturnType<typeof startSendingWorld>>

const { topic: _, ...damagedBatch } = buildDamagedBatch('')

/** The record of a command under a schema that is evolved from the published one. */
async function evolved(seed: number, registry: SchemaRegistry): Promise<Buffer> {
  const random = new Random(seed)
  const type = typeOf(schemas.command)
  new Evolution(random, type).evolve()
  const { bytes } = BodyWriter.bodyOf(random, type)
  const id = await registry.idOf('foreign', schemaOf(type))
  return recordOf(id, random.chance(0.3) ? damaged(random, bytes) : bytes)
}

/** A gateway that loses answers, before or after it executed the request, and knows what it executed. */
class LossyGateway {
  readonly #random: Random
  isLossy = true
  /** How often each id was executed; 0: posted, but not executed. */
  readonly executed = new Map<string, number>()

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  takes = () => (this.isLossy ? this.#random.int(0, 1_000) : 0)

  answer = (operations: readonly Operation[]): Answer | null => {
    if (operations.some(({ type }) => type === 'balance')) return null
    if (operations.some(({ type }) => type === 'status')) {
      return itemsAnswer(...operations.map(({ id }) => this.#status(id)))
    }
    const isLost = this.isLossy && this.#random.chance(0.4)
    const isExecuted = !isLost || this.#random.chance(0.5)
    for (const { id } of operations) {
      const before = this.executed.get(String(id)) ?? 0
      this.executed.set(String(id), before + Number(isExecuted))
    }
    return isLost ? { kind: 'lost', cause: 'timeout', message: 'timeout' } : null
  }

  #status(id: number) {
    return this.executed.get(String(id)) ? sentItem(id, { status: 'DELIVERED' }) : refusedItem(id, 'not found')
  }
}

async function append(world: World, offset: number, { value, timestamp, ...rest }: Written): Promise<void> {
  if (value === 'damaged') world.append(damagedBatch, timestamp)
  else world.append({ ...rest, value: await bytesOf(value) }, timestamp)

  async function bytesOf(value: Exclude<Value, 'damaged'>): Promise<Buffer | null> {
    if (typeof value === 'string') return world.encode({ id: BigInt(firstId + offset), delivery: value })
    return value !== null && 'seed' in value ? evolved(value.seed, world.registry) : value
  }
}

/** Plays the turns, then waits until everything has ended. */
async function play(turns: Turns, seed: number): Promise<void> {
  const closers: (() => Promise<void>)[] = []
  const gateway = new LossyGateway(seed)
  const world = await startSendingWorld({
    settings: { gateway: { timeoutMs: 100, notFoundTexts: 'not found' }, commands, doubts: { waitMs: 100, polls: 1 } },
    registry: embeddedRegistry(),
    answer: gateway.answer,
    takes: gateway.takes,
    Broker: BrokerWithDamagedBatches,
    mayEnd: true,
    atEnd: close => closers.push(close),
  })
  try {
    const records = turns.flatMap(({ records }) => records)
    let offset = 0
    for (const turn of turns) {
      for (const record of turn.records) await append(world, offset++, record)
      await world.clock.pass(turn.ms)
      if (turn.isKilled) await world.takeOver()
    }
    await world.clock.pass(10 * minute)
    assert.deepEqual(world.fatals, [])
    judge(world, records, gateway)
    gateway.isLossy = false
    world.append({ key: null, value: world.encode({ id: 1n }) })
    await world.clock.pass(minute)
    assert.equal(world.results().find(({ commandOffset }) => commandOffset === records.length)?.outcome, 'SENT')
  } finally {
    await Promise.all(closers.map(close => close()))
  }
}

const wasPerhapsSent = new Set<unknown>(['SENT', 'UNRESOLVED'])

function judge(world: World, records: readonly Written[], { executed }: LossyGateway): void {
  const topic = world.settings.topics.commands.at(-1)!
  const ends = new Map<number, string[]>(records.map((_, offset) => [offset, []]))
  for (const { final, commandTopic, commandOffset, outcome } of world.results()) {
    assert.equal(commandTopic, topic)
    if (final) ends.get(commandOffset)!.push(outcome)
  }
  for (const { headers } of world.letters()) {
    const told = (name: string) => headers[name]?.toString()
    assert.equal(told(errorHeaders.topic), topic)
    assert.notEqual(told(errorHeaders.code), 'INTERNAL_ERROR')
    ends.get(Number(told(errorHeaders.offset)))!.push(told(errorHeaders.perhapsSent) ? 'UNRESOLVED' : 'letter')
  }
  for (const [offset, outcomes] of ends) {
    const { value } = records[offset]!
    assert.equal(outcomes.length, 1, `record ${offset} ends ${outcomes.length} times: ${outcomes}`)
    const [outcome] = outcomes
    const times = executed.get(String(firstId + offset))
    if (times !== undefined) assert.ok(wasPerhapsSent.has(outcome), `a command that was posted ends ${outcome}`)
    if (value === 'AT_MOST_ONCE') assert.ok((times ?? 0) <= 1, `executed ${times} times`)
    if (typeof value === 'string' && outcome === 'SENT') assert.ok(times! > 0, 'SENT without an execution')
  }
}

export const dispatch = grammarOf(
  'records of any kind on a command topic, while answers are lost and workers killed',
  {
    'every record has one final result or dead letter, none that was perhaps sent is called unsent, and a good command after them is sent':
      fc.asyncProperty(turns, fc.nat(), play),
  },
  5,
)
