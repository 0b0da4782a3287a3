import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Brokers } from '../../src/bus/cluster/brokers.ts'
import { Unanswered } from '../../src/bus/cluster/errors.ts'
import type { FetchedPartition, FetchRequest } from '../../src/bus/read/fetch-api.ts'
import { Fetcher } from '../../src/bus/read/fetcher.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildBatch } from '../support/batches.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { FetchBroker } from '../support/fetch-broker.ts'

const partitions = [0, 1, 2]
const nodes = [0, 1]
/** Long enough for every rest, and for a leader that moved to be found. */
const healedAfterMs = 10_000
const stepMs = 50
const mostInABatch = 5

/** What one reading was given since it was moved last. */
interface Reader {
  reading: Reading
  /** Where it goes on, by what it was given. */
  next: number
  /** Ends the work on the records that it holds. */
  done: (() => void)[]
}

/** Two brokers that lead three partitions, and readings of them. */
class World {
  readonly clock = new ManualClock()
  readonly ends = partitions.map(() => 0)
  readonly leaders = partitions.map(partition => partition % nodes.length)
  readonly brokers: readonly FetchBroker[]
  readonly readers: Reader[] = []
  readonly gone = new Set<number>()
  isSlow = false
  fetches = 0
  #changed = Promise.withResolvers<void>()
  readonly #fetcher: Fetcher

  constructor() {
    this.brokers = nodes.map(
      node =>
        new FetchBroker({
          ends: this.ends,
          leads: partition => this.leaders[partition] === node,
          bytesOf: (from, end) => {
            const count = Math.min(mostInABatch, end - from)
            return count > 0 ? buildBatch(Array.from({ length: count }, (_, i) => from + i)) : Buffer.alloc(0)
          },
        }),
    )
    const brokers = {
      leader: async ({ partition }: { partition: number }) => this.leaders[partition]!,
      refresh: async () => {},
      ask: ({ node }: { node: number }, _api: unknown, [request]: [FetchRequest]) => this.#fetch(node, request),
    } as unknown as Brokers
    this.#fetcher = new Fetcher({ brokers, clock: this.clock, telemetry: new Telemetry() })
  }

  append(partition: number, count: number): void {
    this.ends[partition]! += count
    this.#stir()
  }

  move(partition: number): void {
    this.leaders[partition] = (this.leaders[partition]! + 1) % nodes.length
    this.#stir()
  }

  lose(node: number): void {
    this.gone.add(node)
    this.#stir()
  }

  read(partition: number, offset: number): void {
    const done: (() => void)[] = []
    const reading: Reading = {
      tp: { topic: 't', partition },
      offset: Math.min(offset, this.ends[partition]!),
      life: 0,
      paused: false,
      take: ({ records, next }, from) => {
        expect(from).toBe(reader.next)
        expect(records.map(record => record.offset)).toEqual(records.map((_, i) => from + i))
        expect(next).toBe(from + records.length)
        reader.next = next
        return this.isSlow && records.length > 0 ? new Promise<void>(resolve => done.push(resolve)) : undefined
      },
      cut: () => {},
    }
    const reader: Reader = { reading, next: reading.offset, done }
    this.readers.push(reader)
    this.#fetcher.read(reading)
  }

  seek({ reading, done }: Reader, offset: number): void {
    for (const resolve of done.splice(0)) resolve()
    reading.life++
    reading.offset = Math.min(offset, this.ends[reading.tp.partition]!)
    this.readers.find(reader => reader.reading === reading)!.next = reading.offset
    this.#fetcher.read(reading)
  }

  pause({ reading }: Reader, paused: boolean): void {
    reading.paused = paused
    this.#fetcher.read(reading)
  }

  forget(reader: Reader): void {
    this.readers.splice(this.readers.indexOf(reader), 1)
    this.#fetcher.forget(reader.reading)
  }

  /** Time passes in steps, between which all that does not wait for it goes on. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left >= 0; left -= stepMs) {
      for (let i = 0; i < 6; i++) await settled()
      await this.clock.pass(Math.min(left, stepMs))
    }
  }

  async heal(): Promise<void> {
    this.gone.clear()
    this.isSlow = false
    for (const reader of this.readers) {
      for (const resolve of reader.done.splice(0)) resolve()
      if (reader.reading.paused) this.pause(reader, false)
    }
    await this.pass(healedAfterMs)
  }

  async close(): Promise<void> {
    const closed = this.#fetcher.close()
    await this.pass(healedAfterMs)
    await closed
  }

  /** A broker waits until it has something to say. */
  async #fetch(node: number, request: FetchRequest): Promise<FetchedPartition[]> {
    this.fetches++
    const broker = this.brokers[node]!
    if (this.gone.has(node)) throw new Unanswered('gone')
    broker.begin(request)
    const until = this.clock.monotonic() + request.waitMs
    while (!broker.hasNews(request) && this.clock.monotonic() < until) {
      await new Promise<void>(resolve => {
        const cancel = this.clock.after(until - this.clock.monotonic(), resolve)
        void this.#changed.promise.then(() => {
          cancel()
          resolve()
        })
      })
      if (this.gone.has(node)) throw new Unanswered('gone')
    }
    return broker.answer(request)
  }

  #stir(): void {
    const { resolve } = this.#changed
    this.#changed = Promise.withResolvers()
    resolve()
  }
}

const step = fc.record({
  kind: fc.constantFrom(
    ...(['append', 'append', 'append', 'read', 'seek', 'pause', 'resume', 'forget'] as const),
    ...(['slow', 'done', 'move', 'lose', 'back'] as const),
  ),
  partition: fc.nat(partitions.length - 1),
  count: fc.integer({ min: 1, max: 12 }),
  who: fc.nat(5),
  ms: fc.constantFrom(0, 0, 1, 5, 20, 250, 2_000),
})

function take(world: World, { kind, partition, count, who }: typeof step extends fc.Arbitrary<infer S> ? S : never) {
  const reader = world.readers[who % Math.max(1, world.readers.length)]
  const node = who % nodes.length
  if (kind === 'append') world.append(partition, count)
  else if (kind === 'read') world.read(partition, count)
  else if (kind === 'move') world.move(partition)
  else if (kind === 'lose') world.lose(node)
  else if (kind === 'back') world.gone.delete(node)
  else if (kind === 'slow') world.isSlow = !world.isSlow
  else if (!reader) return
  else if (kind === 'seek') world.seek(reader, count)
  else if (kind === 'pause' || kind === 'resume') world.pause(reader, kind === 'pause')
  else if (kind === 'forget') world.forget(reader)
  else for (const resolve of reader.done.splice(0)) resolve()
}

test('whatever moves, pauses, fails and comes back, each reading is given every record once and in order, and then rests', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const world = new World()
      for (const partition of partitions) world.read(partition, 0)
      for (const one of steps) {
        take(world, one)
        await world.pass(one.ms)
      }
      await world.heal()
      for (const { reading, next } of world.readers) expect(next).toBe(world.ends[reading.tp.partition])
      const before = world.fetches
      await world.pass(2_000)
      expect(world.fetches - before).toBeLessThan(30)
      await world.close()
    }),
    { numRuns: 200 },
  )
}, 60_000)
