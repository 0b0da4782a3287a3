import { KeyedTopic } from '../../bus/keyed-topic.ts'
import type { Bus, BusRecord, OutgoingRecord, RecordHeaders, Session } from '../../bus/port.ts'
import { type Clock, sleep } from '../../clock.ts'
import { type DecodeError, type Decoder, decodePatiently, isReadableLater } from '../../records/decoder.ts'
import type { Doubt, SendResult } from '../../records/generated.ts'
import type { ResultDetails, WriteResult } from '../../records/result.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { traceOf } from '../../telemetry/trace.ts'
import { nobodyCouldTell } from '../conclude.ts'
import { ResultCounts } from '../result-counts.ts'

export interface OrphansOptions {
  bus: Pick<Bus, 'read' | 'lookAt' | 'firstTimes'>
  topics: { results: string; doubts: string }
  resultDecoder: Decoder<SendResult>
  doubtDecoder: Decoder<Doubt>
  writeResult: WriteResult
  /** Whether this process resolves the command, perhaps without its record. */
  isHeld: (session: Session, message: Message) => boolean
  maxAgeMs: number
  clock: Clock
  telemetry: Telemetry
}

export interface Message {
  id: bigint
  account: string
}

/** A command that is in doubt by its result. */
interface InDoubt {
  result: SendResult
  headers: RecordHeaders
}

const nameOf = ({ id, account }: Message) => `${id} ${account}`
const retryMs = 30_000
const waitMs = 1_000

/**
 * Ends commands UNRESOLVED whose doubt is gone: deleted, unreadable, or on a topic that was deleted. Their IN_DOUBT results tell
 * of them. Each partition ends those whose doubts belong to it; a session asks for it if records may be missing, and so does
 * its next owner until the results are committed.
 */
export class Orphans {
  readonly #options: OrphansOptions
  readonly #doubts: KeyedTopic
  readonly #asked = new Set<Session>()
  #searching = false
  #stopped = false

  constructor(options: OrphansOptions) {
    this.#options = options
    this.#doubts = new KeyedTopic(options.bus, options.topics.doubts, options.clock)
  }

  ask(session: Session): void {
    this.#asked.add(session)
    if (!this.#searching) void this.#searchWhileAsked()
  }

  stop(): void {
    this.#stopped = true
  }

  async #searchWhileAsked(): Promise<void> {
    const { clock, telemetry, topics } = this.#options
    this.#searching = true
    while (this.#alive.length > 0) {
      const ready = this.#alive.filter(isReady)
      if (ready.length === 0) {
        await sleep(clock, waitMs)
        continue
      }
      try {
        await this.#endOrphansOf(ready)
        for (const session of ready) this.#asked.delete(session)
      } catch (error) {
        if (this.#stopped) break
        telemetry.emit('answered.unavailable', {
          error: new Error(
            `cannot read which commands of ${topics.doubts} lack their doubt: ${(error as Error).message}`,
          ),
        })
        await sleep(clock, retryMs)
      }
    }
    this.#searching = false
  }

  get #alive(): Session[] {
    for (const session of this.#asked) if (!session.alive || this.#stopped) this.#asked.delete(session)
    return [...this.#asked]
  }

  /** @throws Error when the topics cannot be read now */
  async #endOrphansOf(sessions: readonly Session[]): Promise<void> {
    const open = await this.#inDoubt(sessions)
    const isHeld = ({ result }: InDoubt) => sessions.some(session => this.#options.isHeld(session, result))
    for (const [name, one] of open) if (isHeld(one)) open.delete(name)
    // the final results of those that were held until now are readable after the commit
    await Promise.all(sessions.map(session => session.committed(true)))
    if (open.size > 0) await this.#removeThoseWithDoubts(open)
    if (open.size > 0) await this.#removeThoseWithResults(open)
    for (const session of sessions) this.#end(session, [...open.values()])
  }

  /** Results are appended behind those of an earlier doubt, unless partitions were added. */
  async #inDoubt(sessions: readonly Session[]): Promise<Map<string, InDoubt>> {
    const { clock, maxAgeMs, topics, resultDecoder } = this.#options
    await this.#doubts.look(0)
    const partitions = new Set(sessions.map(({ partition }) => partition))
    const open = new Map<string, InDoubt>()
    const isLossCertain = sessions.some(({ forgotten }) => forgotten?.owned)
    const since = isLossCertain ? 0 : Math.max(0, clock.now() - 2 * maxAgeMs)
    await this.#readAll(topics.results, since, resultDecoder, (result, { headers }) => {
      if (result.final) this.#remove(result, open)
      else if (result.outcome === 'IN_DOUBT' && partitions.has(this.#partitionOf(result)))
        open.set(nameOf(result), { result, headers })
    })
    return open
  }

  #partitionOf({ id }: Message): number {
    return this.#doubts.partitionOf(String(id))
  }

  async #removeThoseWithDoubts(open: Map<string, InDoubt>): Promise<void> {
    const { topics, doubtDecoder } = this.#options
    const remove = ({ account }: Doubt, { key }: BusRecord) => void open.delete(`${key} ${account}`)
    // its session ends what cannot be decoded, by its key
    await this.#readAll(topics.doubts, 0, doubtDecoder, remove, ({ key }) => removeId(String(key), open))
  }

  async #removeThoseWithResults(open: Map<string, InDoubt>): Promise<void> {
    const { topics, resultDecoder } = this.#options
    await this.#readAll(topics.results, 0, resultDecoder, result => {
      if (result.final) this.#remove(result, open)
    })
  }

  /** A doubt that could not be read ended at its own place, by its id alone: its account was not known. */
  #remove(final: SendResult, open: Map<string, InDoubt>): void {
    if (final.commandTopic === this.#options.topics.doubts) removeId(String(final.id), open)
    else open.delete(nameOf(final))
  }

  #end(session: Session, open: readonly InDoubt[]): void {
    if (!session.alive) return
    const { telemetry } = this.#options
    const { topic, partition } = session
    const counts = new ResultCounts()
    const own = open.filter(({ result }) => this.#partitionOf(result) === partition)
    session.recollected(own.map(one => this.#unresolved(one, counts)))
    if (own.length === 0) return
    void session.committed().then(() => {
      if (!session.alive) return
      counts.announce(telemetry)
      telemetry.emit('doubts.lost', { topic, partition, count: own.length })
    })
  }

  #unresolved({ result, headers }: InDoubt, counts: ResultCounts): OutgoingRecord {
    const {
      commandTopic: topic,
      commandPartition: partition,
      commandOffset: offset,
      commandAt,
      attempts,
      sentAt,
    } = result
    const subject = { ...result, idText: String(result.id), trace: traceOf(headers) }
    const record: BusRecord = { offset, timestamp: commandAt ?? -1, key: null, value: null, headers: {} }
    const details: ResultDetails = {
      outcome: 'UNRESOLVED',
      attempts,
      errorCode: 'RESPONSE_LOST',
      error: nobodyCouldTell('its record in doubt was deleted'),
      ...(sentAt !== null && { sentAt }),
    }
    counts.add(subject, details)
    return this.#options.writeResult(subject, { topic, partition, record }, details)
  }

  /**
   * Passes on every record of the topic, except damaged batches.
   * @param undecodable called for records that cannot be decoded
   * @throws Error when the topic cannot be read to its end now; the error of `undecodable`
   */
  async #readAll<T>(
    topic: string,
    since: number,
    decoder: Decoder<T>,
    take: (value: T, record: BusRecord) => void,
    undecodable: (record: BusRecord, error: DecodeError) => void = failIfReadableLater,
  ): Promise<void> {
    const { bus, clock } = this.#options
    const { promise: failure, reject } = Promise.withResolvers<never>()
    failure.catch(() => {}) // it may reject before it is awaited
    const note = async (record: BusRecord) => {
      const decoded = await decodePatiently(decoder, record.value, clock, () => !this.#stopped)
      if (decoded?.ok) take(decoded.value, record)
      else if (decoded && !record.unreadable) undecodable(record, decoded.error)
    }
    const reader = await bus.read([topic], since === 0 ? 'earliest' : since, async (_, records) => {
      for (const record of records) await note(record).catch(reject)
    })
    try {
      await Promise.race([reader.caughtUp('behind open transactions'), failure])
      if (this.#stopped) throw new Error('the process stops, so that not all records were looked at')
    } finally {
      await reader.close()
    }
  }
}

function removeId(id: string, open: Map<string, InDoubt>): void {
  for (const [name, { result }] of open) if (String(result.id) === id) open.delete(name)
}

/** A result that cannot be decoded yet may be a final one. */
function failIfReadableLater({ offset }: BusRecord, error: DecodeError): void {
  if (isReadableLater(error)) throw new Error(`offset ${offset}: ${error.message}`)
}

/** Whether all doubts of earlier owners are known, and all outcomes that this process awaits. */
const isReady = ({ uncheckedUntil, awaitsEarlier }: Session): boolean => uncheckedUntil === 0 && !awaitsEarlier
