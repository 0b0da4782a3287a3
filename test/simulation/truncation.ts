import type { TopicPartition } from '../../src/bus/port.ts'
import type { Judge } from './judge/judge.ts'
import type { SimProcess } from './process.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

export interface TruncationOptions {
  random: Random
  scheduler: Scheduler
  judge: Judge
  trace: Trace
  tps: readonly TopicPartition[]
  log: {
    start(tp: TopicPartition): number
    end(tp: TopicPartition): number
    cut(tp: TopicPartition, end: number): void
  }
  /** Virtual milliseconds: later none begins. */
  until: number
}

/** A log that lost its end. */
interface Cut {
  end: number
  /** Where it ended before. */
  before: number
  /** Who knows it, and has not committed it yet. */
  knows: Owner | null
  told: boolean
  opened: boolean
}

/** A partition, as far as the broker and the process that has it know of each other. */
interface Reading {
  tp: TopicPartition
  /** Who opened the last session. */
  opener: Owner | null
  /** Whether that one's session is open. */
  open: boolean
  /** Up to where that session was given records. */
  readTo: number
  cut: Cut | null
  waiting: (() => void)[]
}

const keyOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`
const againMs = 50

/**
 * Unclean elections: logs of commands that lose their end while somebody reads there. Producers wait until the process
 * that has the partition knows, and then write all at once, at the offsets that are gone: commands that come before it
 * could know, or that another process takes over before it has committed what it knows, are beyond what can be told.
 */
export class Truncations {
  readonly #options: TruncationOptions
  readonly #readings: ReadonlyMap<string, Reading>

  constructor(options: TruncationOptions) {
    this.#options = options
    this.#readings = new Map(
      options.tps.map(tp => [
        keyOf(tp),
        { tp, opener: null, open: false, readTo: 0, cut: null, waiting: [] } satisfies Reading,
      ]),
    )
  }

  /** Producers that wait for somebody to know. */
  get waiting(): string[] {
    return [...this.#readings].flatMap(([key, { waiting }]) => (waiting.length > 0 ? [key] : []))
  }

  /** Whether a command has to wait; then it is written later. */
  delays(tp: TopicPartition, write: () => void): boolean {
    const reading = this.#of(tp)
    if (!reading?.cut || reading.cut.knows) return false
    reading.waiting.push(write)
    return true
  }

  read(tp: TopicPartition, owner: Owner | null, next: number): void {
    const reading = this.#of(tp)
    if (reading?.open && reading.opener === owner) reading.readTo = Math.max(reading.readTo, next)
  }

  committed(tp: TopicPartition, owner: Owner): void {
    const reading = this.#of(tp)
    if (reading?.cut?.opened && reading.cut.knows === owner) reading.cut = null
  }

  /** The group gave the partition away, perhaps to the one that had it: what it knew is lost unless it was committed. */
  assigned(tp: TopicPartition): void {
    const reading = this.#of(tp)
    if (!reading?.cut?.knows) return
    const { judge, trace } = this.#options
    trace('world', `nobody can tell any more that ${keyOf(tp)} lost its end`)
    judge.lives.unknowable(tp, reading.cut.end, reading.cut.before)
    reading.cut = null
  }

  /** A process hears what it was given. */
  givenAnew(): void {
    for (const { tp } of this.#readings.values()) this.assigned(tp)
  }

  watch(process: SimProcess): void {
    const { telemetry } = process
    telemetry.on('session.opened', tp => this.#opened(process, tp))
    telemetry.on('log.cut', tp => {
      const cut = this.#of(tp)?.cut
      if (cut) cut.told = true
    })
    telemetry.on('session.lost', ({ stage, error, ...tp }) => {
      const reading = this.#of(tp)
      if (!reading) return
      if (reading.opener === process) reading.open = false
      if (stage === 'fetch' && error.message.startsWith('the log ends at')) this.#known(process, reading)
    })
    telemetry.on('session.closed', tp => {
      const reading = this.#of(tp)
      if (reading?.opener === process) reading.open = false
    })
  }

  /** The end of some log is lost: at once, or as soon as somebody has read there. */
  begin(): void {
    const { random, scheduler, until } = this.#options
    const fit = [...this.#readings.values()].filter(reading => this.#fits(reading))
    if (fit.length > 0) this.#cut(random.pick(fit))
    else if (scheduler.now < until) scheduler.add('world', null, 'truncation', againMs, () => this.begin())
  }

  #fits({ tp, opener, open, readTo, cut }: Reading): boolean {
    const { judge, log } = this.#options
    if (cut || !open || opener!.dead || judge.progress.ownerOf(tp) !== opener) return false
    return readTo >= judge.progress.windowEnd(tp) && readTo > log.start(tp)
  }

  #cut(reading: Reading): void {
    const { random, judge, trace, log } = this.#options
    const { tp, readTo } = reading
    const least = random.chance(0.3) ? 0 : readTo - 8
    const end = random.int(Math.max(log.start(tp), least), readTo - 1)
    const before = log.end(tp)
    trace('broker', `*** ${keyOf(tp)} loses its end: ${end} instead of ${before}`)
    reading.cut = { end, before, knows: null, told: false, opened: false }
    judge.lives.truncated(tp, end)
    log.cut(tp, end)
  }

  #opened(process: SimProcess, tp: TopicPartition): void {
    const reading = this.#of(tp)
    const owns = this.#options.judge.progress.ownerOf(tp) === process // though a request of an earlier owner came after its own
    if (!reading || (reading.opener !== process && !owns)) return
    reading.opener = process
    reading.open = true
    reading.readTo = 0
    const { cut } = reading
    const { judge } = this.#options
    if (!cut || judge.progress.ownerOf(tp) !== process) return
    const isAffected = judge.progress.windowEnd(tp) > cut.end
    if (isAffected && !cut.told) {
      judge.accuse('what is gone is told', `${process.name} opens ${keyOf(tp)}, and its log ended at ${cut.end}`)
    }
    this.#known(process, reading)
    cut.opened = true
    if (!isAffected) reading.cut = null
  }

  #known(process: SimProcess, reading: Reading): void {
    const { judge, scheduler } = this.#options
    const { cut, waiting } = reading
    if (!cut || cut.knows || judge.progress.ownerOf(reading.tp) !== process) return
    cut.knows = process
    reading.waiting = []
    for (const write of waiting) scheduler.add('world', null, 'publish', 0, write)
  }

  #of(tp: TopicPartition): Reading | undefined {
    return this.#readings.get(keyOf(tp))
  }
}
