import { KeyedTopic } from '../../bus/keyed-topic.ts'
import { allPartitions, placeName } from '../../bus/partitions.ts'
import type { Bus, BusRecord, From, Needle, Query, TopicPartition } from '../../bus/port.ts'
import { DONE, INTENT, NEW, type Window } from '../../bus/session/window.ts'
import { systemClock } from '../../clock.ts'
import { doubtTimes, type Settings } from '../../config/index.ts'
import { readControl } from '../../control/read.ts'
import { readFleet } from '../../fleet/fleet.ts'
import { idBytes } from '../../records/avro.ts'
import { typeOfMessage } from '../../records/command.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../records/generated.ts'
import { copiedFrom, readLater } from '../../records/later.ts'
import type { SchemaRegistry } from '../../records/registry.ts'
import { withCodeOf } from '../../records/result.ts'
import { schemas } from '../../records/schemas.ts'
import { leavesIdFree } from '../../vocabulary/lists.ts'
import { cut } from '../../words.ts'
import { type Letter, lettersOf, placeText, type RecordPosition } from '../dead-letters/letter.ts'
import { RecordReader, UndecodableRecords } from '../decoding.ts'
import { type Progress, readProgress } from '../progress.ts'
import { DoubtedCommands } from './doubted-commands.ts'
import {
  BoundedFindings,
  type CommandProgress,
  type Findings,
  isUnsent,
  logOf,
  logOfOne,
  type Sighting,
  sightingOf,
} from './findings.ts'
import { commandSighting, schemaIdIn, WaitingCommands } from './found-commands.ts'

export interface MessageSearchOptions {
  bus: Bus
  registry: SchemaRegistry
  settings: Settings
  /** Oldest record to search, milliseconds since 1970. */
  since: number
  ending: AbortSignal
}

/** A part of a log to search. */
interface Part extends Pick<Query, 'from' | 'until'> {
  tp: TopicPartition
}

type Take = (tp: TopicPartition, records: readonly BusRecord[]) => Promise<void>

/** A command without its content. */
export interface RecentCommand {
  id: bigint
  account: string
  type: string
  tenant: string | null
  correlationId: string | null
  /** Timestamp of its record, milliseconds since 1970. */
  time: number
}

const rangeCodes: ReadonlySet<string> = new Set(['RECORDS_DELETED', 'RECORDS_SKIPPED'])
/** Longest text of a RecentCommand. */
const longestText = 300

/** Searches all topics for one message or for the messages of a correlationId, or the commands for those of a phone. */
export class MessageSearch {
  readonly #options: MessageSearchOptions
  readonly #undecodable = new UndecodableRecords()
  readonly #readers: {
    command: RecordReader<SendCommand>
    result: RecordReader<SendResult>
    status: RecordReader<StatusEvent>
    doubt: RecordReader<Doubt>
  }
  readonly #bounded = new BoundedFindings()
  readonly #findings = this.#bounded.all
  readonly #doubted = new DoubtedCommands()
  #counts = new Map<string, number>()
  /** Progress of the workers' group, by partition name; null: no worker has opened the partition. */
  #progress = new Map<string, Progress>()

  constructor(options: MessageSearchOptions) {
    const { registry } = options
    this.#options = options
    const readerOf = <T>(schema: object) => new RecordReader<T>(schema, registry, this.#undecodable)
    this.#readers = {
      command: readerOf(schemas.command),
      result: readerOf(schemas.result),
      status: readerOf(schemas.status),
      doubt: readerOf(schemas.doubt),
    }
  }

  get findings(): Findings {
    const { gaps, ...found } = this.#findings
    return { ...found, gaps: [...gaps, ...this.#undecodable.texts, ...this.#bounded.leftOut] }
  }

  /**
   * All about one id. Results, statuses and doubts have it as their key, which chooses their partition; partitions that were
   * added since move it to another one. The command's producer may have chosen any key and partition: its place is in its
   * result, or it is among those that are not done yet.
   * @param account default: any
   */
  async byId(id: bigint, account?: string): Promise<Findings> {
    const { results, statuses, doubts, deadLetters, later } = this.#options.settings.topics
    const keyed = [results, statuses, doubts, deadLetters]
    await this.#begin([...keyed, later])
    await this.#readProgress()
    const key = Buffer.from(String(id))
    const { since } = this.#options
    const ofKey = (await Promise.all(keyed.map(topic => this.#partsOf(topic, String(id))))).flat()
    const look = async (parts: readonly Part[]) => {
      // a doubt and its IN_DOUBT are written together: doubts that exist are found for all results
      const ofDoubts = (isWanted: boolean) => parts.filter(({ tp: { topic } }) => (topic === doubts) === isWanted)
      const note: Take = (tp, records) => this.#note(tp, records)
      await this.#searchAll(ofDoubts(false), [{ key }], note)
      await this.#searchAll(ofDoubts(true), [{ key }], note)
    }
    await look(ofKey)
    const isKnown = () => this.#findings.results.length + this.#findings.doubts.length > 0
    if (!isKnown()) {
      // another program may have chosen the partition
      const others = keyed
        .flatMap(topic => this.#tps(topic))
        .map(tp => ({ tp, from: ofKey.find(one => same(one.tp, tp))?.until ?? since }))
      await look(others.filter(({ from }) => from < Number.POSITIVE_INFINITY))
    }
    const isOne = ({ id: found }: SendCommand) => found === id
    const hasUsedId = ({ value }: Sighting<SendResult>) =>
      value.final && !leavesIdFree(value.outcome) && (account ?? value.account) === value.account
    if (!this.#findings.results.some(hasUsedId)) await this.#readLater(id)
    await this.#commandsAt(this.#placesTold(), isOne)
    const note: Take = async (tp, records) => {
      await this.#noteCommands(tp, records, isOne, key)
    }
    const isFurther = () => !isKnown() && this.#findings.commands.length === 0
    await this.#searchCommands([{ key }, { bytes: idBytes(id) }], note, isFurther)
    if (!isKnown()) await this.#readLettersOfCommands(id)
    const { commands, doubts: found, undecoded } = this.#findings
    const isWaiting = commands.some(({ value }) => isUnsent(value))
    if (isWaiting) await this.#readControls()
    if (isWaiting || undecoded.length > 0 || found.some(({ value }) => value.progress !== 'done'))
      await this.#readFleet()
    const isUnexplained = !isKnown() && this.#findings.letters.length === 0
    if (isUnexplained && this.#findings.commands.every(({ value }) => value.progress === 'done'))
      await this.#readLostRanges()
    return this.findings
  }

  /** The commands of the id that wait; they take the place of their records. */
  async #readLater(id: bigint): Promise<void> {
    const waiting = new WaitingCommands(id, this.#readers.command)
    const parts = this.#partsFrom(this.#tps(this.#options.settings.topics.later), 'earliest')
    await this.#searchAll(parts, [{ bytes: Buffer.from(`#${id}`) }], (tp, records) => waiting.take(tp, records))
    for (const one of waiting.all) this.#bounded.keep('commands', one)
  }

  /**
   * The ids of messages that carry this correlationId: every partition is looked through. A whole campaign may carry one, so
   * only ids are kept, `mostIds` at most.
   */
  async idsOf(correlationId: string, mostIds: number): Promise<{ ids: bigint[]; more: boolean }> {
    const { topics } = this.#options.settings
    await this.#begin([topics.results, topics.statuses, topics.later])
    await this.#readProgress()
    const needles = [{ bytes: Buffer.from(correlationId) }]
    const ids = new Set<bigint>()
    const taking =
      <T extends { id: bigint; correlationId: string | null }>(reader: RecordReader<T>): Take =>
      (tp, records) =>
        reader.each(tp, records, one => {
          if (one.correlationId === correlationId && ids.size <= mostIds) ids.add(one.id)
        })
    const { since } = this.#options
    const { command, result, status } = this.#readers
    await Promise.all([
      this.#searchAll(this.#partsFrom(this.#tps(topics.results), since), needles, taking<SendResult>(result)),
      this.#searchAll(this.#partsFrom(this.#tps(topics.statuses), since), needles, taking<StatusEvent>(status)),
      this.#searchAll(this.#partsFrom(this.#tps(topics.later), 'earliest'), needles, async (tp, records) =>
        taking<SendCommand>(command)(
          tp,
          records.filter(record => readLater(record)?.state === 'waits'),
        ),
      ),
    ])
    await this.#searchCommands(needles, taking<SendCommand>(command), () => ids.size === 0)
    return { ids: [...ids].slice(0, mostIds), more: ids.size > mostIds }
  }

  /** The newest commands to a phone. Decodes every command since `since`, because the topics have no index. */
  async toPhone(lastDigits: string, most: number): Promise<{ commands: RecentCommand[]; more: boolean }> {
    await this.#begin([])
    let commands: RecentCommand[] = []
    let matching = 0
    const keepNewest = () => {
      commands = commands.toSorted((a, b) => b.time - a.time).slice(0, most)
    }
    const short = (text: string | null) => text && cut(text, longestText)
    const note: Take = (tp, records) =>
      this.#readers.command.each(tp, records, (one, record) => {
        if (!String(one.phone).endsWith(lastDigits) || copiedFrom(record)) return
        const { id, account, tenant, correlationId } = one
        const texts = { account: cut(account, longestText), tenant: short(tenant), correlationId: short(correlationId) }
        commands.push({ id, ...texts, type: typeOfMessage(one), time: record.timestamp })
        matching++
        if (commands.length > 2 * most) keepNewest()
      })
    await this.#searchAll(this.#partsFrom(this.#commandTps, this.#options.since), null, note)
    keepNewest()
    return { commands, more: matching > commands.length }
  }

  /** @param others topics to search beside those of commands */
  async #begin(others: readonly string[]): Promise<void> {
    const { bus, settings } = this.#options
    const topics = [...settings.topics.commands, ...others]
    this.#counts = await bus.partitions(topics)
    for (const topic of topics) if (!this.#counts.has(topic)) this.#findings.gaps.push(`There is no topic ${topic}.`)
  }

  get #commandTps(): TopicPartition[] {
    return this.#options.settings.topics.commands.flatMap(topic => this.#tps(topic))
  }

  #count(topic: string): number {
    return this.#counts.get(topic) ?? 0
  }

  #tps(topic: string): TopicPartition[] {
    return allPartitions(topic, this.#count(topic))
  }

  #partsFrom(tps: readonly TopicPartition[], from: From): Part[] {
    return tps.map(tp => ({ tp, from }))
  }

  /** The parts of a topic that may hold records with the key. */
  async #partsOf(topic: string, key: string): Promise<Required<Part>[]> {
    const { bus, since: from } = this.#options
    if (this.#count(topic) === 0) return []
    const keyed = new KeyedTopic(bus, topic, systemClock)
    await keyed.look()
    return keyed.placesOf(key, from).map(({ partition, until }) => ({ tp: { topic, partition }, from, until }))
  }

  /** An error of one partition leaves a gap; the others are searched. @param needles null: every record is taken */
  async #searchAll(parts: readonly Part[], needles: readonly Needle[] | null, take: Take): Promise<void> {
    const { bus, ending } = this.#options
    const search = async ({ tp, ...range }: Part) => {
      try {
        const query = {
          ...range,
          ...(needles && { needles }),
          ending,
          take: (records: readonly BusRecord[]) => take(tp, records),
        }
        this.#findings.searched.push(logOf(await bus.search(tp, query)))
      } catch (error) {
        this.#findings.gaps.push(`${tp.topic}/${tp.partition} could not be searched: ${(error as Error).message}`)
      }
    }
    await Promise.all(parts.map(search))
  }

  async #note(tp: TopicPartition, records: readonly BusRecord[]): Promise<void> {
    const { results, statuses, doubts, deadLetters } = this.#options.settings.topics
    const { result, status, doubt } = this.#readers
    if (tp.topic === results) {
      await result.each(tp, records, (value, record) => {
        this.#bounded.keep('results', sightingOf(tp, record, withCodeOf(value, record.headers)))
      })
    }
    if (tp.topic === statuses) {
      await status.each(tp, records, (value, record) => this.#bounded.keep('statuses', sightingOf(tp, record, value)))
    }
    if (tp.topic === doubts) {
      await doubt.each(tp, records, (value, record) => {
        this.#doubted.keep(value)
        const progress = stateOf(this.#progress.get(placeName(tp)), record.offset)
        const asked = askedOf(value, this.#options.settings)
        this.#bounded.keep('doubts', sightingOf(tp, record, { ...value, progress, asked }))
      })
    }
    if (tp.topic !== deadLetters) return
    for (const { record, ...letter } of lettersOf(tp, records)) {
      this.#bounded.keep('letters', sightingOf(tp, record, letter))
    }
  }

  /** Letters of commands that can be read now, and whose key is not their id. */
  async #readLettersOfCommands(id: bigint): Promise<void> {
    const { commands, letters } = this.#findings
    const done = commands.filter(({ value }) => value.progress === 'done')
    const places = new Set(done.map(({ place }) => placeText(place)))
    for (const { value } of letters) if (value.origin) places.delete(placeText(value.origin))
    if (places.size === 0) return
    const { settings, since } = this.#options
    const isTheirs = ({ origin }: Letter) => origin !== null && places.has(placeText(origin))
    const note: Take = (tp, records) => {
      const theirs = lettersOf(tp, records).filter(isTheirs)
      return this.#note(
        tp,
        theirs.map(({ record }) => record),
      )
    }
    await this.#searchAll(
      this.#partsFrom(this.#tps(settings.topics.deadLetters), since),
      [{ bytes: idBytes(id) }],
      note,
    )
  }

  /** Letters about ranges of commands: their keys are coordinates. */
  async #readLostRanges(): Promise<void> {
    const { commands, later, deadLetters } = this.#options.settings.topics
    const needles = [...commands, later].map(topic => ({ bytes: Buffer.from(`${topic}/`) }))
    await this.#searchAll(
      this.#partsFrom(this.#tps(deadLetters), this.#options.since),
      needles,
      async (tp, records) => {
        for (const { record, ...letter } of lettersOf(tp, records)) {
          if (rangeCodes.has(letter.code)) this.#bounded.keep('lost', sightingOf(tp, record, letter))
        }
      },
    )
  }

  /** @param further asked after the unfinished commands: whether to search the finished ones, too */
  async #searchCommands(needles: readonly Needle[], take: Take, further: () => boolean) {
    const tps = this.#commandTps
    const { since } = this.#options
    const unfinished = tps.map((tp): Part => {
      const base = this.#baseOf(tp)
      return { tp, from: base === undefined ? since : { offset: base } }
    })
    await this.#searchAll(unfinished, needles, take)
    if (!further()) return
    const begun = tps.filter(tp => this.#baseOf(tp) !== undefined)
    const older: Take = (tp, records) => {
      const base = this.#baseOf(tp)!
      return take(
        tp,
        records.filter(({ offset }) => offset < base),
      )
    }
    await this.#searchAll(this.#partsFrom(begun, since), needles, older)
  }

  async #readProgress(): Promise<void> {
    const { bus, settings } = this.#options
    const tps = [...this.#commandTps, ...this.#tps(settings.topics.doubts)]
    try {
      const known = await readProgress(bus, settings, tps)
      for (const [i, tp] of tps.entries()) this.#progress.set(placeName(tp), known[i] ?? null)
    } catch (error) {
      this.#findings.gaps.push(
        `The progress of the group ${settings.kafka.groupId} is unknown: ${(error as Error).message}`,
      )
    }
  }

  /** The committed offset of the workers' group. */
  #baseOf(tp: TopicPartition): number | undefined {
    return this.#progress.get(placeName(tp))?.window.base
  }

  async #readControls(): Promise<void> {
    const { bus, settings, ending } = this.#options
    try {
      const { inForce } = await readControl(bus, settings, ending)
      const isUrgentOnly = this.#findings.commands.every(({ place }) => place.topic === settings.topics.commands[0])
      this.#findings.controls.push(...inForce.filter(({ kind }) => kind !== 'quiet_hours' || !isUrgentOnly))
    } catch (error) {
      this.#findings.gaps.push(`Pauses and withdrawals are unknown: ${(error as Error).message}`)
    }
  }

  async #readFleet(): Promise<void> {
    const { bus, settings, ending } = this.#options
    try {
      this.#findings.fleet = await readFleet(bus, settings, ending)
    } catch (error) {
      this.#findings.gaps.push(`What else holds commands back is unknown: ${(error as Error).message}`)
    }
  }

  /** The places of commands by their results and doubts. */
  #placesTold() {
    const { results, doubts } = this.#findings
    const places = [
      ...results.map(({ value }) => {
        const { commandTopic: topic, commandPartition: partition, commandOffset: offset } = value
        return { topic, partition, offset }
      }),
      ...doubts.map(({ value: { topic, partition, offset } }) => ({ topic, partition, offset })),
    ]
    return [...new Map(places.map(place => [placeText(place), place])).values()]
  }

  async #commandsAt(places: readonly RecordPosition[], isOne: (command: SendCommand) => boolean): Promise<void> {
    await Promise.all(
      places.map(async place => {
        const { offset, ...tp } = place
        if (!isPosition(tp.partition) || !isPosition(offset) || tp.partition >= this.#count(tp.topic)) return
        const read = await this.#options.bus.recordsAt(tp, [offset]).catch(() => null)
        const there = read?.records[0]
        // what stands further back is looked at only here; the search for what waits counts the rest
        if (there && offset < (this.#baseOf(tp) ?? 0)) this.#findings.searched.push(logOfOne(tp, there))
        const record = there ?? this.#doubted.at(place)
        const found = record ? await this.#noteCommands(tp, [record], isOne) : 0
        const why = record ? 'another record is there: the topic was recreated or mirrored' : 'retention'
        if (found === 0) this.#findings.gaps.push(`The command at ${placeText(place)} is gone (${why}).`)
      }),
    )
  }

  /**
   * @param key keeps records with this key that cannot be decoded
   * @returns the number of matching commands
   */
  async #noteCommands(
    tp: TopicPartition,
    records: readonly BusRecord[],
    isOne: (command: SendCommand) => boolean,
    key?: Buffer,
  ): Promise<number> {
    const known = new Map(this.#findings.commands.map(one => [placeText(one.place), one]))
    let found = 0
    for (const record of records) {
      const read = await this.#readers.command.decode(record)
      const progress = this.#progress.get(placeName(tp))
      const at = { progress: stateOf(progress, record.offset), schemaId: schemaIdIn(record) }
      if (!read.ok) {
        this.#undecodable.add({ ...tp, offset: record.offset }, read.why)
        if (key && record.key?.equals(key) && isUnsent(at))
          this.#bounded.keep('undecoded', sightingOf(tp, record, { schemaId: at.schemaId, why: read.why }))
        continue
      }
      const command = read.value
      if (!isOne(command)) continue
      found++
      const ahead = progress ? unfinishedBefore(progress.window, record.offset) : null
      const sighting = commandSighting(tp, record, command, { progress: at.progress, ahead })
      const before = known.get(placeText(sighting.place))
      if (before && sighting.place.offset !== record.offset) before.value.progress = at.progress
      if (!before) this.#bounded.keep('commands', sighting)
    }
    return found
  }
}

/** Whether a number of a record, which may be any, is a partition or an offset. */
const isPosition = (number: number): boolean => Number.isSafeInteger(number) && number >= 0
const same = (one: TopicPartition, other: TopicPartition) => placeName(one) === placeName(other)

/** Number of offsets before this one that are not done. */
function unfinishedBefore(window: Window, offset: number): number {
  const known = Math.min(offset, window.base + window.length)
  let unfinished = Math.max(0, offset - Math.max(known, window.base))
  for (let before = window.base; before < known; before++) if (window.get(before) !== DONE) unfinished++
  return unfinished
}

/** When workers with these settings ask the gateway about a doubt. */
const askedOf = ({ postedAt }: Doubt, settings: Settings) => {
  const { settleMs, pollIntervalMs } = doubtTimes(settings)
  return { from: postedAt + settleMs, everyMs: pollIntervalMs }
}

/** @param progress undefined: it could not be read */
function stateOf(progress: Progress | undefined, offset: number): CommandProgress {
  if (progress === undefined) return 'unknown'
  if (progress === null) return 'unread'
  const state = progress.window.get(offset)
  if (state === DONE) return 'done'
  if (progress.foreign) return 'unknown'
  return state === NEW ? 'waiting' : state === INTENT ? 'sending' : 'doubted'
}
