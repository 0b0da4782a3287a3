import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Bus, From } from '../../src/bus/port.ts'
import { groupRecords, topicRecords } from '../../src/bus/streams/topic-stream.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { type BusHarness, buildRecord, publishAll, until } from '../support/bus.ts'

/** A process that reads record by record, and stops at the key `holdAt` until `goOn`. */
class Reader {
  readonly keys: string[] = []
  readonly #end = new AbortController()
  /** How often its group has asked it to pause, and how many partitions it follows. */
  readonly seen = { pauses: 0, followed: 0 }
  /** The key of the record that it holds until `goOn`. */
  holdAt: string | null = null
  #goOn = () => {}
  readonly ended: Promise<void>

  constructor(open: (ending: AbortSignal) => ReturnType<typeof topicRecords>) {
    this.ended = this.#read(open(this.#end.signal))
    this.ended.catch(() => {})
  }

  goOn(): void {
    this.holdAt = null
    this.#goOn()
  }

  async end(): Promise<void> {
    this.#end.abort()
    this.goOn()
    await this.ended
  }

  async #read(records: ReturnType<typeof topicRecords>): Promise<void> {
    for await (const { record } of records) {
      const key = String(record.key)
      this.keys.push(key)
      if (key !== this.holdAt) continue
      await new Promise<void>(resolve => {
        this.#goOn = resolve
      })
    }
  }
}

/** What every adapter of the bus promises to readers of single records, without a group or in one. */
export function groupReadingContract(harness: () => BusHarness): void {
  describe('a reader of single records', () => {
    let topic: string
    let groupId: string
    let run = 0
    beforeEach(async () => {
      topic = await harness().topic('streamed', 2)
      groupId = `${topic}-readers-${++run}`
    })

    const openBus = async () => (await harness().process(`${groupId}-workers`)).bus
    /** A clock that makes the search for added partitions twenty times as frequent. */
    const clock = { ...systemClock, after: (ms: number, then: () => void) => systemClock.after(ms / 20, then) }
    const optionsOf = (bus: Bus, ending: AbortSignal) => ({
      ...{ bus, topic, ending, clock },
      telemetry: new Telemetry(),
    })

    function endedAfterTest(reader: Reader): Reader {
      onTestFinished(() => reader.end().catch(() => {}))
      return reader
    }

    async function readAlone(from: From, untilEnd = false): Promise<Reader> {
      const bus = await openBus()
      return endedAfterTest(
        new Reader(ending => topicRecords({ ...optionsOf(bus, ending), from: () => from, untilEnd })),
      )
    }

    async function readInGroup(startFrom: From = 'earliest', holdAt: string | null = null): Promise<Reader> {
      const bus = await openBus()
      const reader = new Reader(ending => groupRecords({ ...optionsOf(bus, ending), groupId, startFrom }))
      reader.holdAt = holdAt
      watch(bus, reader.seen)
      return endedAfterTest(reader)
    }

    function watch(bus: Bus, seen: Reader['seen']): void {
      const { follow, readInGroup: read } = bus
      bus.follow = async (...args) => {
        const follower = await follow.apply(bus, args)
        seen.followed++
        return follower
      }
      bus.readInGroup = (topics, options) => {
        const pause = () => {
          seen.pauses++
          return options.pause()
        }
        return read.call(bus, topics, { ...options, pause })
      }
    }

    async function publish(keys: string[], partition?: number): Promise<void> {
      const bus = await openBus()
      await publishAll(
        bus,
        keys.map((key, i) => buildRecord(topic, key, { partition: partition ?? i % 2 })),
      )
    }

    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i))
    const sorted = (keys: string[]) => keys.toSorted((a, b) => Number(a) - Number(b))

    test('without a group gets the existing records and ends, if it reads until the end', async () => {
      await publish(range(0, 50))
      const reader = await readAlone('earliest', true)
      await reader.ended
      expect(sorted(reader.keys)).toEqual(range(0, 50))
    })

    test('without a group begins at an offset, or at the beginning if the log does not hold it', async () => {
      await publish(range(0, 10), 0)
      const reader = await readAlone({ offset: 7 }, true)
      await reader.ended
      expect(reader.keys).toEqual(range(7, 10))
      const beyond = await readAlone({ offset: 1000 }, true)
      await beyond.ended
      expect(beyond.keys).toEqual(range(0, 10))
    })

    test('without a group ends at once when it is aborted while no record comes', async () => {
      const reader = await readAlone('earliest')
      await publish(['1'])
      await until(() => expect(reader.keys).toEqual(['1']))
      await reader.end()
    })

    test('in a group continues after a restart behind the last record that it handled', async () => {
      await publish(range(0, 40), 0)
      const first = await readInGroup('earliest', '30')
      await until(() => expect(first.keys).toHaveLength(31))
      await first.end() // the record in hand is finished, and counts as handled
      const second = await readInGroup()
      await publish(['40'], 0)
      await until(() => expect(second.keys).toEqual(range(31, 41)))
    })

    test('in a group that stops while it handles a record leaves that record to the next one', async () => {
      await publish(range(0, 3), 0)
      const broken = await openBus()
      const end = new AbortController()
      for await (const { record } of groupRecords({
        ...optionsOf(broken, end.signal),
        groupId,
        startFrom: 'earliest',
      })) {
        if (String(record.key) === '1') break
      }
      const next = await readInGroup()
      await until(() => expect(next.keys).toEqual(['1', '2']))
    })

    test('in a group that is killed leaves its partitions and the record in hand to the others', async () => {
      await publish(range(0, 5), 0)
      const { bus, crash } = await harness().process(`${groupId}-workers`)
      const killed = new Reader(ending => groupRecords({ ...optionsOf(bus, ending), groupId, startFrom: 'earliest' }))
      killed.holdAt = '2'
      await until(() => expect(killed.keys).toContain('2'))
      await crash()
      const next = await readInGroup()
      await until(() => expect(next.keys.slice(-3)).toEqual(['2', '3', '4']), 60_000)
    })

    test('in a group shares the partitions with a new reader, and each record is read once', async () => {
      await publish(range(0, 20))
      const first = await readInGroup()
      await until(() => expect(first.keys).toHaveLength(20))
      const second = await readInGroup()
      for (let from = 20; second.keys.length < 20; from += 20) await publish(range(from, from + 20))
      const all = () => sorted([...first.keys, ...second.keys])
      await until(() => expect(all()).toEqual(range(0, Number(all().at(-1)) + 1)))
      await until(() => expect(all().length % 20).toBe(0))
      expect(first.keys.length).toBeGreaterThan(20)
    })

    test('in a group finishes the record in hand before its partition goes to another reader', async () => {
      await publish(range(0, 5), 0)
      await publish(range(5, 10), 1)
      const first = await readInGroup('earliest', '2')
      await until(() => expect(first.keys).toContain('2'))
      const { pauses } = first.seen
      const second = await readInGroup()
      await until(() => expect(first.seen.pauses).toBeGreaterThan(pauses))
      first.goOn()
      await until(() => expect(sorted([...first.keys, ...second.keys])).toEqual(range(0, 10)))
    })

    test('in a new group begins at startFrom, and a restart continues there although no record came', async () => {
      await publish(range(0, 4))
      const first = await readInGroup('latest')
      await until(() => expect(first.seen.followed).toBe(2))
      await publish(['4'], 1)
      await publish(['5'], 0)
      await until(() => expect(sorted(first.keys)).toEqual(['4', '5']))
      await first.end()
      groupId = `${groupId}-quiet`
      const quiet = await readInGroup('latest')
      await until(() => expect(quiet.seen.followed).toBe(2))
      await quiet.end()
      await publish(['6'], 0)
      const back = await readInGroup('latest')
      await until(() => expect(back.keys).toEqual(['6']))
    })

    test('reads added partitions, without a group or in one', async () => {
      const reader = await readAlone('latest')
      const grouped = await readInGroup()
      await publish(['0'])
      await until(() => expect(grouped.keys).toEqual(['0']))
      await harness().addPartitions(topic, 3)
      await publish(['1'], 2)
      await until(() => expect(grouped.keys).toEqual(['0', '1']), 60_000)
      await until(() => expect(reader.keys).toContain('1'), 60_000)
    })
  })
}
