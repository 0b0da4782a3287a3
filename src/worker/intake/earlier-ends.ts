import { allPartitions, partitionsOf } from '../../bus/partitions.ts'
import type { Bus, BusRecord, Session, TopicPartition } from '../../bus/port.ts'
import { searchStart } from '../../bus/record-time.ts'
import { type Clock, limited, sleep } from '../../clock.ts'
import { idIn } from '../../protocol/ids.ts'
import { errorHeaders, originalKey, originOfLetter } from '../../records/dead-letter.ts'
import { type Decoder, decodePatiently } from '../../records/decoder.ts'
import type { SendCommand, SendResult } from '../../records/generated.ts'
import { copyAtIn } from '../../records/later.ts'
import { leavesIdFree } from '../../vocabulary/lists.ts'

/** A repeated id of one partition, and the last finished record that had it. */
export interface RepeatedId extends TopicPartition {
  id: bigint
  account: string
  /** Offset of that record. */
  earlier: number
  /** Whether it is the only finished record that had the id, as far as known. */
  isOnly: boolean
  /** Offset of the record that it replays, whose own dead letter does not count; null if it is no replay. */
  replayOf: number | null
}

/** Whether records with the id were sent or perhaps sent; unknown if that cannot be found. */
export type IdUse = 'used' | 'unused' | 'unknown'

export interface EarlierEndsOptions {
  bus: Pick<Bus, 'search' | 'partitions'>
  topics: { results: string; deadLetters: string }
  resultDecoder: Decoder<SendResult>
  commandDecoder: Pick<Decoder<SendCommand>, 'decode'>
  clock: Clock
}

/** Longest look-up; after it, the ids count as used. */
const limitMs = 10_000
/** Retry interval while the transaction of an end is still being completed. */
const retryMs = 100

const keyOf = ({ id, account }: { id: bigint; account: string }) => `${id} ${account}`

const offsetName = (offset: number) => `offset ${offset}`
const idName = (id: bigint) => `id ${id}`
const namesOf = (repeated: RepeatedId) => [keyOf(repeated), idName(repeated.id), offsetName(repeated.earlier)]

/** What is known of repeated ids of one partition. */
class Uses {
  readonly #tp: TopicPartition
  readonly #decoder: EarlierEndsOptions['commandDecoder']
  readonly #used = new Set<string>()
  /** Offsets of the records of dead letters that were perhaps sent, by what names them. */
  readonly #perhapsSent = new Map<string, number[]>()
  /** Offsets of records that surely ended without having used their id. */
  readonly #unsent = new Set<number>()
  /** Whether every result and dead letter that is left since the earliest record was read. */
  isComplete = true
  /** Whether others of that time may have been deleted. */
  areOlderGone = false

  constructor(tp: TopicPartition, decoder: EarlierEndsOptions['commandDecoder']) {
    this.#tp = tp
    this.#decoder = decoder
  }

  #isOwn({ topic, partition }: TopicPartition): boolean {
    return topic === this.#tp.topic && partition === this.#tp.partition
  }

  noteResult({ commandTopic: topic, commandPartition: partition, outcome, ...subject }: SendResult): void {
    if (!this.#isOwn({ topic, partition })) return
    if (!leavesIdFree(outcome)) this.#used.add(keyOf(subject))
    else if (outcome !== 'DUPLICATE') this.#unsent.add(subject.commandOffset)
  }

  noteLetter(letter: BusRecord): void {
    const { at, names } = this.#perhapsSentIn(letter)
    for (const name of names) {
      const known = this.#perhapsSent.get(name) ?? []
      // of any two, one is not the record that is replayed
      if (known.length < 2 && !known.includes(at)) this.#perhapsSent.set(name, [...known, at])
    }
  }

  /** Whether the dead letter says that a record with the id was perhaps sent. */
  isUse(letter: BusRecord, repeated: RepeatedId): boolean {
    const { at, names } = this.#perhapsSentIn(letter)
    return at !== repeated.replayOf && namesOf(repeated).some(name => names.includes(name))
  }

  /**
   * Offset of the record of a dead letter that was perhaps sent, and its names: its message if it can be decoded by now, else the
   * offsets of the record and of its copy, and the id that the key tells, in any account.
   */
  #perhapsSentIn(letter: BusRecord): { at: number; names: string[] } {
    const origin = originOfLetter(letter)
    const wasPerhapsSent = letter.headers[errorHeaders.perhapsSent] !== undefined
    if (!origin || !wasPerhapsSent || !this.#isOwn(origin)) return { at: -1, names: [] }
    const { offset } = origin
    const decoded = this.#decoder.decode(letter.value)
    if (decoded.ok) return { at: offset, names: [keyOf(decoded.value)] }
    const id = idIn(originalKey(letter)?.toString('latin1') ?? '')
    const offsets = [offset, copyAtIn(letter.headers) ?? offset]
    return { at: offset, names: [...offsets.map(offsetName), ...(id === null ? [] : [idName(id)])] }
  }

  /** An id without any use was in a dead letter, in a command that ended unsent, or in a record that a reset skipped. */
  of(repeated: RepeatedId): IdUse {
    const letters = namesOf(repeated).flatMap(name => this.#perhapsSent.get(name) ?? [])
    if (this.#used.has(keyOf(repeated)) || letters.some(at => at !== repeated.replayOf)) return 'used'
    const isUnsent = repeated.isOnly && this.#unsent.has(repeated.earlier)
    return this.isComplete && (!this.areOlderGone || isUnsent) ? 'unused' : 'unknown'
  }
}

/**
 * Finds what became of earlier records with a repeated id, in the results and dead letters since then. Rare, so it may read
 * much.
 */
export class EarlierEnds {
  readonly #options: EarlierEndsOptions

  constructor(options: EarlierEndsOptions) {
    this.#options = options
  }

  /**
   * @param repeated ids of the session's partition
   * @param since when the oldest of the earlier records was appended, milliseconds since 1970
   */
  async usesOf(
    session: Session,
    repeated: readonly RepeatedId[],
    since: number,
  ): Promise<(repeated: RepeatedId) => IdUse> {
    const { clock, commandDecoder } = this.#options
    const ending = new AbortController()
    const uses = new Uses(session, commandDecoder)
    const reading = this.#read(uses, repeated, searchStart(since, clock.now()), () => session.alive, ending.signal)
    await limited(clock, limitMs, reading).catch(() => {
      uses.isComplete = false
    })
    ending.abort()
    return one => uses.of(one)
  }

  async #read(
    uses: Uses,
    repeated: readonly RepeatedId[],
    from: number,
    wanted: () => boolean,
    ending: AbortSignal,
  ): Promise<void> {
    const { bus, topics, resultDecoder, clock } = this.#options
    const { results, deadLetters } = topics
    const counts = await partitionsOf(bus, [results, deadLetters])
    const needles = repeated.map(({ id }) => ({ key: Buffer.from(String(id)) }))
    const note = async (records: readonly BusRecord[]) => {
      for (const { value } of records) {
        const decoded = await decodePatiently(resultDecoder, value, clock, wanted)
        if (decoded?.ok) uses.noteResult(decoded.value)
        else uses.isComplete = false
      }
    }
    const search = async (tp: TopicPartition) => {
      const isOfResults = tp.topic === results
      const take = async (records: readonly BusRecord[]) =>
        isOfResults ? note(records) : records.forEach(letter => void uses.noteLetter(letter))
      const query = { ...(isOfResults && { needles }), ending }
      const searched = await bus.search(tp, { ...query, from, take })
      if (searched.from === searched.start && searched.start > 0) uses.areOlderGone = true
      if (searched.unreadable > 0) uses.isComplete = false
      const isEnd = (record: BusRecord) => isOfResults || repeated.some(one => uses.isUse(record, one))
      // an end whose transaction is still being completed may be one of these
      for (let { until } = searched; !ending.aborted; ) {
        let isHidden = false
        const look = async (records: readonly BusRecord[]) => {
          isHidden ||= records.some(isEnd)
        }
        await bus.search(tp, { ...query, from: { offset: until }, isolation: 'uncommitted', take: look })
        if (!isHidden) return
        await sleep(clock, retryMs)
        until = (await bus.search(tp, { ...query, from: { offset: until }, take })).until
      }
    }
    await Promise.all([results, deadLetters].flatMap(topic => allPartitions(topic, counts.get(topic)!)).map(search))
  }
}

/** Holds a session's records with a repeated id until it is known whether an earlier record used it. */
export class RepeatQueue<T extends { repeated: RepeatedId }> {
  readonly #session: Session
  readonly #ends: Pick<EarlierEnds, 'usesOf'>
  readonly #again: (items: readonly { item: T; use: IdUse }[]) => void
  #waiting: T[] = []
  #isAsking = false

  /** @param again called with items whose look-up has ended, in their original order */
  constructor(
    session: Session,
    ends: Pick<EarlierEnds, 'usesOf'>,
    again: (items: readonly { item: T; use: IdUse }[]) => void,
  ) {
    this.#session = session
    this.#ends = ends
    this.#again = again
  }

  /** @param since when the oldest of the earlier records was appended, milliseconds since 1970 */
  add(item: T, since: number): void {
    this.#waiting.push(item)
    if (!this.#isAsking) void this.#ask(since)
  }

  async #ask(since: number): Promise<void> {
    this.#isAsking = true
    while (this.#waiting.length > 0 && this.#session.alive) {
      await this.#session.committed() // the earlier record may have ended in this process, and its end not be committed yet
      const asked = this.#waiting.splice(0)
      const repeated = asked.map(item => item.repeated)
      const useOf = await this.#ends.usesOf(this.#session, repeated, since)
      if (this.#session.alive) this.#again(asked.map(item => ({ item, use: useOf(item.repeated) })))
    }
    this.#isAsking = false
  }
}
