import { Buffer } from 'node:buffer'
import { allPartitions, partitionsOf } from '../bus/partitions.ts'
import type { Bus, RecordsHandler } from '../bus/port.ts'
import { scanPartition } from '../bus/scan.ts'
import type { Settings } from '../config/index.ts'
import { cut } from '../words.ts'
import { mayBeReport, type Report, readReport } from './report.ts'
import { renewalMs } from './reporter.ts'

/** A process by its last report. */
export interface Process {
  /** Host and process id. */
  name: string
  /** When it last reported, milliseconds since 1970. */
  seenAt: number
  report: Report
}

/** The processes of a group. */
export interface Fleet {
  /** Those that have reported lately. */
  alive: Process[]
  /** Those that stopped reporting, and did not say that they end. */
  silent: Process[]
  /** Number of records on the topic that are no reports, or for which there is no room. */
  skipped: number
}

/** A process that has not reported for this long does not count. */
export const silentMs = 3 * renewalMs
/** How far back reports are read. */
const lookBackMs = 5 * 60_000
const longestReadMs = 4_000
/** Most processes, and most bytes of their reports. */
const mostProcesses = 1_000
const mostBytes = 16 * 1024 * 1024

/**
 * Reads the last reports of the group's processes, uncommitted, so that nobody's open transaction hides one.
 * @throws Error that says why they cannot be read
 */
export async function readFleet(bus: Bus, { topics, kafka }: Settings, ending?: AbortSignal): Promise<Fleet> {
  const topic = topics.workers
  const count = (await partitionsOf(bus, [topic])).get(topic)!
  const now = Date.now()
  const last = new LastReports()
  const late = AbortSignal.timeout(longestReadMs)
  const options = { isolation: 'uncommitted' as const, ending: ending ? AbortSignal.any([ending, late]) : late }
  const scan = (partition: number) =>
    scanPartition(bus, { topic, partition }, now - lookBackMs, (_, records) => last.take(records), options)
  try {
    await Promise.all(allPartitions(topic, count).map(({ partition }) => scan(partition)))
  } catch (error) {
    if (!late.aborted) throw error
    throw new Error(
      `${topic} cannot be read within ${longestReadMs / 1000} s: it holds too much, or the brokers are slow`,
    )
  }
  const { processes, skipped } = last.read(kafka.groupId)
  const [alive = [], silent = []] = [true, false].map(isAlive =>
    processes.filter(({ seenAt }) => now - seenAt <= silentMs === isAlive),
  )
  return { alive, silent, skipped }
}

/** The last record of each key, in bounded memory. */
class LastReports {
  readonly #last = new Map<string, { value: Buffer; seenAt: number }>()
  #bytes = 0
  #skipped = 0

  take(records: Parameters<RecordsHandler>[1]): void {
    for (const record of records) {
      if (!mayBeReport(record)) {
        this.#skipped++
        continue
      }
      const name = String(record.key)
      const known = this.#last.get(name)
      if (known) {
        this.#last.delete(name)
        this.#bytes -= known.value.length
      }
      const { value, timestamp: seenAt } = record
      if (value === null) continue
      if (this.#last.size >= mostProcesses || this.#bytes + value.length > mostBytes) {
        this.#skipped++
        continue
      }
      this.#bytes += value.length
      this.#last.set(name, { value: Buffer.from(value), seenAt })
    }
  }

  read(group: string): { processes: Process[]; skipped: number } {
    const processes: Process[] = []
    let skipped = this.#skipped
    for (const [name, { value, seenAt }] of this.#last) {
      const report = readReport(value)
      if (report === null) skipped++
      else if (report.group === group) processes.push({ name: cut(name, 250), seenAt, report })
    }
    return { processes: processes.toSorted((a, b) => a.name.localeCompare(b.name)), skipped }
  }
}
