import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Unanswered } from '../../src/bus/cluster/errors.ts'
import { logOf } from '../support/fake-cluster.ts'
import { buildReadings, tpOf } from '../support/readings.ts'

const partitions = [0, 1, 2]
const nodes = [0, 1]
/** Long enough for every back-off, and to find a leader that has moved. */
const healedAfterMs = 10_000

/** What one reading received since its last seek. */
interface Reader {
  reading: ReturnType<ReturnType<typeof buildReadings>['read']>['reading']
  /** The offset that it must receive next. */
  next: number
  /** Each function ends the handling of one batch. */
  done: (() => void)[]
}

/** Two brokers that lead three partitions, and readings of them. */
class World {
  readonly #world = buildReadings()
  readonly readers: Reader[] = []
  readonly stopped = new Set<number>()
  /** Requests to a frozen node wait until it thaws. */
  readonly #frozen = new Map<number, PromiseWithResolvers<void>>()
  isSlow = false

  constructor() {
    const { cluster } = this.#world
    for (const partition of partitions) {
      cluster.setLeader(tpOf(partition), partition % nodes.length)
      cluster.setLog(tpOf(partition), logOf(0, { inBatch: 5 }))
      this.read(partition, 0)
    }
    cluster.always('Fetch', async (_: unknown, { node }: { node: number }) => {
      if (this.stopped.has(node)) throw new Unanswered('gone')
      await this.#frozen.get(node)?.promise
    })
  }

  get fetches(): number {
    return this.#world.fetches().length
  }

  endOf(partition: number): number {
    return this.#world.cluster.log(tpOf(partition)).high
  }

  append(partition: number, count: number): void {
    this.#world.cluster.append(tpOf(partition), count)
  }

  lead(partition: number, node: number): void {
    this.#world.cluster.setLeader(tpOf(partition), node)
  }

  freeze(node: number): void {
    this.#frozen.set(node, this.#frozen.get(node) ?? Promise.withResolvers())
  }

  thaw(node: number): void {
    this.#frozen.get(node)?.resolve()
    this.#frozen.delete(node)
  }

  read(partition: number, offset: number): void {
    const done: (() => void)[] = []
    const from = Math.min(offset, this.endOf(partition))
    const { reading } = this.#world.read(partition, from, ({ records, next }, from) => {
      expect(from).toBe(reader.next)
      expect(records.map(record => record.offset)).toEqual(records.map((_, i) => from + i))
      expect(next).toBe(from + records.length)
      reader.next = next
      return this.isSlow && records.length > 0 ? new Promise<void>(resolve => done.push(resolve)) : undefined
    })
    const reader: Reader = { reading, next: from, done }
    this.readers.push(reader)
  }

  seek(reader: Reader, offset: number): void {
    const { reading, done } = reader
    for (const resolve of done.splice(0)) resolve()
    reading.offset = Math.min(offset, this.endOf(reading.tp.partition))
    reader.next = reading.offset
    this.#world.fetcher.read(reading)
  }

  pause({ reading }: Reader, paused: boolean): void {
    reading.paused = paused
    this.#world.fetcher.read(reading)
  }

  forget(reader: Reader): void {
    this.readers.splice(this.readers.indexOf(reader), 1)
    this.#world.fetcher.forget(reader.reading)
  }

  pass(ms: number): Promise<void> {
    return this.#world.pass(ms)
  }

  async heal(): Promise<void> {
    this.stopped.clear()
    this.isSlow = false
    for (const node of nodes) this.thaw(node)
    for (const reader of this.readers) {
      for (const resolve of reader.done.splice(0)) resolve()
      if (reader.reading.paused) this.pause(reader, false)
    }
    await this.pass(healedAfterMs)
  }

  async close(): Promise<void> {
    this.#world.close()
    await this.pass(healedAfterMs)
  }
}

const step = fc.record({
  kind: fc.constantFrom(
    ...(['append', 'append', 'append', 'read', 'seek', 'pause', 'resume', 'forget'] as const),
    ...(['slow', 'done', 'move', 'stop', 'restart', 'freeze', 'thaw'] as const),
  ),
  partition: fc.nat(partitions.length - 1),
  count: fc.integer({ min: 1, max: 12 }),
  who: fc.nat(5),
  ms: fc.constantFrom(0, 0, 1, 5, 20, 250, 6_000),
})

function perform(world: World, { kind, partition, count, who }: typeof step extends fc.Arbitrary<infer S> ? S : never) {
  const reader = world.readers[who % Math.max(1, world.readers.length)]
  const node = who % nodes.length
  if (kind === 'append') world.append(partition, count)
  else if (kind === 'read') world.read(partition, count)
  else if (kind === 'move') world.lead(partition, node)
  else if (kind === 'stop') world.stopped.add(node)
  else if (kind === 'restart') world.stopped.delete(node)
  else if (kind === 'freeze') world.freeze(node)
  else if (kind === 'thaw') world.thaw(node)
  else if (kind === 'slow') world.isSlow = !world.isSlow
  else if (!reader) return
  else if (kind === 'seek') world.seek(reader, count)
  else if (kind === 'pause' || kind === 'resume') world.pause(reader, kind === 'pause')
  else if (kind === 'forget') world.forget(reader)
  else for (const resolve of reader.done.splice(0)) resolve()
}

test('every reader gets each record once, in order, although leaders move and brokers freeze and restart', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const world = new World()
      for (const one of steps) {
        perform(world, one)
        await world.pass(one.ms)
      }
      await world.heal()
      for (const { reading, next } of world.readers) expect(next).toBe(world.endOf(reading.tp.partition))
      const before = world.fetches
      await world.pass(2_000)
      expect(world.fetches - before).toBeLessThan(30)
      await world.close()
    }),
    { numRuns: 200, interruptAfterTimeLimit: 60_000 }, // a busy machine draws fewer
  )
})
