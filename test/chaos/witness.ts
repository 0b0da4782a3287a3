import { setTimeout as pause } from 'node:timers/promises'
import { allPartitions } from '../../src/bus/partitions.ts'
import type { BusRecord, Follower, TopicPartition } from '../../src/bus/port.ts'
import { type FullLetter, lettersOf } from '../../src/inspect/dead-letters/letter.ts'
import { createDecoder, type Decoded, type Decoder, decodeAll } from '../../src/records/decoder.ts'
import { finishedBy } from '../../src/records/doubt.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'
import { Audit } from './audit.ts'
import { idOf, indexOf, type Load } from './load.ts'
import { Losses } from './losses.ts'
import type { RunOptions, Stage } from './stage.ts'
import { Stories } from './stories.ts'

/** How long a poll may be under way while a callback brings the verdict. */
const pollMs = 5000
/** How long commands may have no end while none of them ends. */
const patienceMs = 60_000

/**
 * Reads results, dead letters and statuses while they are written, from added partitions and recreated topics too, and compares
 * them with what was deleted on purpose.
 */
export class Witness {
  readonly audit: Audit
  readonly stories: Stories
  readonly #stage: Stage
  readonly #options: RunOptions
  readonly #load: Load
  readonly #losses: Losses
  readonly #decoders: { result: Decoder<SendResult>; status: Decoder<StatusEvent> }
  readonly #followers = new Map<string, Follower>()
  /** Dead letters about records that cannot be read. */
  readonly #letters: { index: number; perhapsSent: boolean }[] = []
  /** When the verdict of a message was read, in monotonic milliseconds. */
  readonly #verdicts = new Map<bigint, number>()
  #isTableLost = false
  #polls = 0
  #polledAgain = 0

  static async of(stage: Stage, options: RunOptions, load: Load): Promise<Witness> {
    const witness = new Witness(stage, options, load)
    await witness.#followAll()
    return witness
  }

  private constructor(stage: Stage, options: RunOptions, load: Load) {
    this.#stage = stage
    this.#options = options
    this.#load = load
    this.audit = new Audit(options)
    this.#losses = new Losses(stage.settings.topics.commands, stage.folder)
    this.stories = new Stories(stage, load, {
      hasFinal: index => this.audit.hasFinal(index),
      executionsOf: index => this.executionsOf(index),
      isDeleted: index => this.#losses.isDeleted(index),
      say: options.say,
    })
    this.#decoders = {
      result: createDecoder(schemas.result, stage.registry),
      status: createDecoder(schemas.status, stage.registry),
    }
  }

  executionsOf(index: number): number {
    return this.#stage.sandbox.executions(idOf(index), this.#load.accountOf(index))
  }

  /** Reads everything that was written until now. */
  async catchUp(): Promise<void> {
    await this.#followAll()
    await Promise.all([...this.#followers.values()].map(follower => follower.caughtUp()))
  }

  /** Reads a topic that was deleted and created again from its beginning. */
  async reopen(topic: string): Promise<void> {
    for (const [name, follower] of this.#followers) {
      if (!name.startsWith(`${topic}/`)) continue
      await follower.close()
      this.#followers.delete(name)
    }
    this.#losses.recreated(topic)
    if (topic === this.#stage.settings.topics.statuses) this.#verdicts.clear() // the reconciler cannot know them either
    await this.#followAll()
  }

  /** Remembers the records before this offset. Call it before they are deleted. */
  async noteDeletion(tp: TopicPartition, before: number): Promise<void> {
    const { bus, settings } = this.#stage
    await this.catchUp()
    if (![...settings.topics.commands, settings.topics.doubts].includes(tp.topic)) return
    const { signal: ending } = new AbortController()
    const take = async (records: readonly BusRecord[]) =>
      this.#losses.deleted(
        tp,
        records.filter(record => record.offset < before && finishedBy(record) === null),
      )
    await bus.search(tp, { from: 'earliest', ending, take })
  }

  async #followAll(): Promise<void> {
    const { bus, settings } = this.#stage
    const { results, statuses, deadLetters } = settings.topics
    const counts = await bus.partitions([results, statuses, deadLetters])
    for (const tp of [...counts].flatMap(([topic, count]) => allPartitions(topic, count))) {
      const name = `${tp.topic}/${tp.partition}`
      if (this.#followers.has(name)) continue
      this.#followers.set(name, await bus.follow(tp, 'earliest', records => this.#note(tp, records)))
    }
  }

  async #note({ topic }: TopicPartition, records: readonly BusRecord[]): Promise<void> {
    const { results, statuses, deadLetters } = this.#stage.settings.topics
    const { result, status } = this.#decoders
    if (topic === results) for (const one of await decodeAll(result, records)) this.audit.count(readable(one))
    if (topic === statuses) for (const one of await decodeAll(status, records)) this.#noteStatus(readable(one))
    if (topic === deadLetters)
      for (const letter of lettersOf({ topic, partition: 0 }, records)) this.#noteLetter(letter)
  }

  #noteStatus({ id, source, final }: StatusEvent): void {
    const now = performance.now()
    const known = this.#verdicts.get(id)
    if (source === 'POLL') this.#polls++
    if (source === 'POLL' && known !== undefined && now - known > pollMs) {
      this.#polledAgain++
      this.#options.say(`${id} was polled ${Math.round(now - known)} ms after its verdict`)
    }
    if (final && known === undefined) this.#verdicts.set(id, now)
  }

  #noteLetter({ record, ...letter }: FullLetter): void {
    const { origin, code, perhapsSent } = letter
    const key = String(record.key)
    if (code === 'RECORDS_DELETED' && /^\d+$/.test(key)) {
      const index = indexOf(BigInt(key))
      this.#losses.tellWaiting(index, perhapsSent)
      this.audit.endOtherwise(index)
    } else if (code === 'RECORDS_DELETED' && origin?.topic === this.#stage.settings.topics.later) {
      this.#isTableLost = true
    } else if (code === 'RECORDS_DELETED') {
      for (const index of this.#losses.tell(letter, record)) this.audit.endOtherwise(index)
    } else if (origin && this.#stage.settings.topics.commands.includes(origin.topic)) {
      const index = indexOf(BigInt(String(record.key)))
      this.#letters.push({ index, perhapsSent })
      this.audit.endOtherwise(index)
    }
  }

  /** Waits until every command has ended, or was told to be lost. */
  async finish(): Promise<Audit> {
    const { commands, say } = this.#options
    let ended = -1
    let changedAt = performance.now()
    while (ended < commands && performance.now() - changedAt < patienceMs) {
      await this.catchUp()
      const now = this.audit.finished
      if (now !== ended) {
        say(`${now} of ${commands} ended`)
        changedAt = performance.now()
      }
      ended = now
      await pause(2000)
    }
    await pause(3000) // for what must not come
    await this.catchUp()
    if (this.#isTableLost) this.#endWaiting()
    const open = this.#inDoubt()
    if (open.length > 0) say(`in doubt, with no end: ${open.map(idOf).join(', ')}`)
    await this.stories.tellAll()
    return this.audit
  }

  /** A dead letter tells that commands waited on a table that is gone: only the table knew which. */
  #endWaiting(): void {
    const lost = Array.from({ length: this.#options.commands }, (_, i) => i).filter(
      index => this.#load.waits(index) && !this.audit.hasEnded(index) && this.executionsOf(index) === 0,
    )
    this.#options.say(`${lost.length} commands waited on a table that is gone`)
    for (const index of lost) this.audit.endOtherwise(index)
  }

  /** Commands that stay in doubt. */
  #inDoubt(): number[] {
    return Array.from({ length: this.#options.commands }, (_, i) => i).filter(index => this.audit.isInDoubt(index))
  }

  /** The figures of the run, and the names of broken promises. */
  report(): { figures: object; broken: string[] } {
    const ends = {
      hasFinal: (index: number) => this.audit.hasFinal(index),
      executionsOf: (index: number) => this.executionsOf(index),
    }
    const broken = Object.entries({
      ...this.#losses.falsehoods(ends),
      doubtsWithoutEnd: this.#inDoubt().length,
      letterAndFinalResult: this.#letters.filter(({ index }) => ends.hasFinal(index)).length,
      letterUnsentButExecuted: this.#letters.filter(one => !one.perhapsSent && ends.executionsOf(one.index) > 0).length,
      verdictsPolledAgain: this.#polledAgain,
      falseStories: this.stories.falseOnes,
    }).filter(([, count]) => count > 0)
    const figures = {
      ...this.#losses.figures,
      ...{ deadLetters: this.#letters.length, polls: this.#polls, stories: this.stories.told },
      ...Object.fromEntries(broken),
    }
    return { figures, broken: broken.map(([name]) => name) }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#followers.values()].map(follower => follower.close()))
  }
}

function readable<T>(decoded: Decoded<T>): T {
  if (!decoded.ok) throw new Error('a record of busgate cannot be decoded')
  return decoded.value
}
