import { onTestFinished, vi } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus, type MemoryBusOptions } from '../../src/bus/memory/bus.ts'
import type { Bus, BusRecord, OutgoingRecord, Session, SessionListener } from '../../src/bus/port.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'

/** A simulated process with its own bus. */
export interface Process {
  bus: Bus
  telemetry: Telemetry
  /** Kills the process: nothing that it does afterwards reaches the broker. */
  crash(): Promise<void>
}

/** A broker with several processes, and ways to disturb them. The contract tests run on each adapter's harness. */
export interface BusHarness {
  /** Creates a topic with a unique name. @param maxMessageBytes default: the broker's */
  topic(name: string, partitions: number, maxMessageBytes?: number): Promise<string>
  /** Changes max.message.bytes of a topic. */
  limit(topic: string, maxMessageBytes: number): Promise<void>
  /** Starts a process, which is closed at the end of the test. Each test has its own group. */
  process(groupId: string): Promise<Process>
  /** Fences the transactional producers of all processes in the group. */
  fence(groupId: string): Promise<void>
  /** Appends each group of records in its own transaction; all are open at the same time. Those with `abort` are aborted. */
  transactions(groups: { records: OutgoingRecord[]; abort?: boolean }[]): Promise<void>
  /** Appends the records in a transaction that stays open. */
  openTransaction(records: OutgoingRecord[]): Promise<{ commit(): Promise<void> }>
  /** Deletes the records before this offset, as an operator would. */
  deleteRecords(topic: string, partition: number, before: number): Promise<void>
  addPartitions(topic: string, count: number): Promise<void>
  close(): Promise<void>
}

/** Records every call and settles nothing by itself. */
export class TestListener implements SessionListener {
  readonly sessions = new Map<number, Session>()
  readonly fresh: { session: Session; record: BusRecord }[] = []
  readonly doubted: { session: Session; record: BusRecord; since: number }[] = []
  readonly recalls: { session: Session; record: BusRecord }[] = []
  readonly past: { session: Session; record: BusRecord }[] = []
  readonly fatals: Error[] = []
  /** The log's new start offset at each cut. */
  readonly cuts: number[] = []
  onFresh: (session: Session, records: readonly BusRecord[]) => void = () => {}

  opened(session: Session): void {
    this.sessions.set(session.partition, session)
  }
  records(session: Session, records: readonly BusRecord[]): void {
    for (const record of records) this.fresh.push({ session, record })
    this.onFresh(session, records)
  }
  recalled(session: Session, records: readonly BusRecord[]): void {
    for (const record of records) this.recalls.push({ session, record })
  }
  cut(_: Session, before: number): void {
    this.cuts.push(before)
  }
  inDoubt(session: Session, records: readonly BusRecord[], since: number): void {
    for (const record of records) this.doubted.push({ session, record, since })
  }
  history(session: Session, records: readonly BusRecord[]): void {
    for (const record of records) this.past.push({ session, record })
  }
  inFlight(session: Session, records: readonly BusRecord[]): void {
    this.history(session, records)
  }
  resumed(): void {}
  closed(session: Session): void {
    if (this.sessions.get(session.partition) === session) this.sessions.delete(session.partition)
  }
  fatal(error: Error): void {
    this.fatals.push(error)
  }

  get freshKeys(): string[] {
    return keysOf(this.fresh)
  }
  get recalledKeys(): string[] {
    return keysOf(this.recalls)
  }
  get pastKeys(): string[] {
    return keysOf(this.past)
  }
  get doubtedKeys(): string[] {
    return keysOf(this.doubted)
  }
  session(partition = 0): Session {
    const session = this.sessions.get(partition)
    if (!session) throw new Error(`no session is open on partition ${partition}`)
    return session
  }
  /** The offset at which a key was last delivered. */
  offsetOf(key: string): number {
    const found = [...this.fresh, ...this.doubted].findLast(({ record }) => record.key?.toString() === key)
    if (!found) throw new Error(`${key} was not delivered`)
    return found.record.offset
  }
}

const keysOf = (list: { record: BusRecord }[]) => list.map(({ record }) => record.key?.toString() ?? '')

/** Opens an in-memory bus with these topics. It is closed at the end of the test. */
export function openMemoryBus(
  topics: readonly string[],
  options: Partial<MemoryBusOptions> & { broker?: MemoryBroker; partitions?: number } = {},
) {
  const { clock = systemClock, broker = new MemoryBroker(clock), partitions = 1 } = options
  broker.createTopics(topics.map(topic => ({ topic, partitions })))
  const { telemetry = new Telemetry() } = options
  const own = { groupId: 'g', drainMs: 1000, startFrom: 'earliest' } as const
  const bus = new MemoryBus({ ...own, ...options, broker, clock, telemetry })
  onTestFinished(() => bus.close())
  return { broker, bus, telemetry }
}

export function buildRecord(topic: string, key: string, overrides: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return { topic, key: Buffer.from(key), value: Buffer.from(`value of ${key}`), ...overrides }
}

export const buildRecords = (topic: string, keys: readonly string[], overrides: Partial<OutgoingRecord> = {}) =>
  keys.map(key => buildRecord(topic, key, overrides))

export async function publishAll(bus: Bus, records: OutgoingRecord[]): Promise<void> {
  const publisher = await bus.publisher()
  await publisher.publish(records)
  await publisher.close()
}

export async function until(condition: () => void | Promise<void>, timeout = 60_000): Promise<void> {
  await vi.waitFor(condition, { timeout, interval: 10 })
}

/** The keys of a topic's committed records. The list grows until the bus is closed. */
export async function readKeys(bus: Bus, topic: string): Promise<string[]> {
  const keys: string[] = []
  await bus.read([topic], 'earliest', (_, records) => {
    for (const { key } of records) keys.push(key?.toString() ?? '')
  })
  return keys
}
