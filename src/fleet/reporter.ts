import { hostname } from 'node:os'
import type { Bus, OutgoingRecord, Publisher } from '../bus/port.ts'
import { type Clock, limited } from '../clock.ts'
import { safeText } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { HeldAccount } from '../vocabulary/holds.ts'
import { goneRecord, type Report, writeReport } from './report.ts'

export interface ReporterOptions {
  bus: Pick<Bus, 'publisher'>
  topic: string
  report: () => Report
  clock: Clock
  telemetry: Telemetry
}

/** How often the state is compared with the last report; also the shortest interval of reports. */
const lookMs = 1_000
/** How long a report stays unchanged. Readers take a process for gone after three of these. */
export const renewalMs = 20_000
/** Retry interval while the topic cannot be written. */
const retryMs = 30_000
/** Longest time that a stop waits for its last record. */
const goodbyeMs = 1_000

let workers = 0

/** Name of this process, or of a further worker in it. */
function ownName(): string {
  workers++
  return `${hostname()}/${process.pid}${workers > 1 ? `.${workers}` : ''}`
}

/**
 * Tells other programs what this process does: at once when its state changes, else every 20 seconds. Nothing waits for it, and a
 * failure is logged once.
 */
export class Reporter {
  readonly #options: ReporterOptions
  readonly #name = ownName()
  #publisher: Promise<Publisher> | null = null
  /** What the last report said, but for figures. */
  #told = ''
  #toldAt = Number.NEGATIVE_INFINITY
  #isFailing = false
  #isStopped = false
  #cancel: () => void

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#cancel = options.clock.after(lookMs, () => void this.#look())
  }

  /** Tells that this process is gone. Resolves soon, whatever the brokers do. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    const { clock, topic } = this.#options
    if (this.#toldAt === Number.NEGATIVE_INFINITY) return
    const goodbye = this.#publish(goneRecord(topic, this.#name)).then(async () => (await this.#publisher)?.close())
    await limited(clock, goodbyeMs, goodbye).catch(() => {})
  }

  async #look(): Promise<void> {
    const { clock, topic, telemetry } = this.#options
    let waitMs = lookMs
    try {
      await this.#tell()
      if (this.#isFailing) telemetry.emit('report.available', { topic })
      this.#isFailing = false
    } catch (error) {
      waitMs = retryMs
      if (!this.#isFailing && !this.#isStopped) {
        telemetry.emit('report.unavailable', { topic, error: safeText((error as Error).message) })
      }
      this.#isFailing = true
    }
    if (!this.#isStopped) this.#cancel = clock.after(waitMs, () => void this.#look())
  }

  async #tell(): Promise<void> {
    const { report, clock, topic } = this.#options
    const now = clock.monotonic()
    const current = report()
    const state = stateOf(current)
    if (state === this.#told && now - this.#toldAt < renewalMs) return
    await this.#publish(writeReport(topic, this.#name, current))
    this.#told = state
    this.#toldAt = now
  }

  async #publish(record: OutgoingRecord): Promise<void> {
    this.#publisher ??= this.#options.bus.publisher('apart')
    await (await this.#publisher).publish([record])
  }
}

/**
 * What is worth a new report: no rates or times, no throttling, which comes and goes, and of numbers of commands only that they
 * doubled.
 */
function stateOf({ reasons, held, polls, stuck, owned }: Report): string {
  const lasting = (accounts: readonly HeldAccount[]) =>
    accounts.flatMap(({ account, reason, waiting }) =>
      reason === 'throttled' ? [] : [[account, reason, Math.ceil(Math.log2(waiting + 1))]],
    )
  const partitions = Object.entries(owned).map(([topic, rates]) => [topic, Object.keys(rates)])
  return JSON.stringify([reasons, lasting(held), lasting(polls), stuck, partitions])
}
