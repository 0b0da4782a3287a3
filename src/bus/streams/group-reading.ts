import { type Clock, limited, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { Told } from '../../told.ts'
import { GroupMember, type GroupTransport, type MemberOf } from '../membership/member.ts'
import { PartitionMap } from '../partitions.ts'
import type { Bus, Follower, GroupReadOptions, ReadPartition, TopicPartition } from '../port.ts'

export interface Progress extends TopicPartition {
  offset: number
}

export interface GroupReadingOptions extends Omit<GroupReadOptions, 'groupId'> {
  topics: readonly string[]
  transport: GroupTransport
  /** Committed offsets; null where there is none. */
  committed(tps: readonly TopicPartition[]): Promise<(number | null)[]>
  /** Rejects if the member's generation is over. */
  commit(member: MemberOf, offsets: readonly Progress[]): Promise<void>
  follow: Bus['follow']
  clock: Clock
  telemetry: Telemetry
  sessionTimeoutMs: number
  /** How often the leader checks for added partitions. */
  partitionsAgeMs: number
  /** Longest time for records in progress to finish before partitions are revoked. */
  drainMs: number
}

const commitMs = 1000
const retryMs = 1000

/** A partition that the group has assigned to this member. */
class OwnedPartition implements ReadPartition {
  readonly topic: string
  readonly partition: number
  owned = true
  follower: Follower | null = null
  /** Last committed offset; null if unknown. */
  committed: number | null = null
  #done: { before: number; position: number | undefined } | null = null

  constructor({ topic, partition }: TopicPartition) {
    this.topic = topic
    this.partition = partition
  }

  done(before: number): void {
    this.#done = { before, position: this.follower?.position }
  }

  /** The offset to commit: after the last handled record, and past gaps that follow it. */
  get position(): number | undefined {
    const position = this.follower?.position
    return this.#done && this.#done.position === position ? this.#done.before : position
  }

  giveUp(): void {
    this.owned = false
    void this.follower?.close()
  }
}

/** One member of a group of readers, on either adapter. */
export class GroupReading {
  readonly #options: GroupReadingOptions
  readonly #member: GroupMember
  readonly #partitions = new PartitionMap<OwnedPartition>()
  #committing: Promise<void> = Promise.resolve()
  #cancelCommit = () => {}
  #closed: Promise<void> | null = null
  readonly #told = new Told()

  private constructor(options: GroupReadingOptions) {
    this.#options = options
    this.#member = new GroupMember({
      ...options,
      events: {
        joining: () => this.#drain(),
        assigned: (given, unbroken) => this.#take(given, unbroken),
      },
    })
  }

  /** Resolves when the group has assigned the first partitions. @throws GroupError; Error when aborted before */
  static async join(options: GroupReadingOptions): Promise<GroupReading> {
    const reading = new GroupReading(options)
    const { ending } = options
    const end = () => void reading.close()
    ending.addEventListener('abort', end, { once: true })
    try {
      ending.throwIfAborted()
      await reading.#member.join()
    } finally {
      ending.removeEventListener('abort', end)
    }
    reading.#commitRegularly()
    return reading
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#cancelCommit()
    await this.#commit()
    for (const partition of this.#partitions) partition.giveUp()
    await this.#member.leave()
  }

  /**
   * Waits for records in progress. A record that is still in progress after the time-out is delivered again, perhaps to
   * another member.
   */
  async #drain(): Promise<void> {
    const { clock, drainMs, pause } = this.#options
    await limited(clock, drainMs, pause()).catch(() => {})
    await this.#commit()
  }

  #take(given: readonly TopicPartition[], unbroken: boolean): void {
    for (const partition of this.#partitions) {
      const isGiven = given.some(tp => tp.topic === partition.topic && tp.partition === partition.partition)
      if (unbroken && isGiven) continue
      partition.giveUp()
      this.#partitions.delete(partition)
    }
    const fresh = given.filter(tp => !this.#partitions.get(tp)).map(tp => new OwnedPartition(tp))
    for (const partition of fresh) this.#partitions.set(partition, partition)
    this.#options.resume()
    void this.#open(fresh)
  }

  async #open(fresh: readonly OwnedPartition[]): Promise<void> {
    for (let wanted = fresh; wanted.length > 0; ) {
      try {
        const committed = await this.#options.committed(wanted)
        await Promise.all(wanted.map((partition, i) => this.#follow(partition, committed[i] ?? null)))
        return
      } catch (error) {
        this.#tell('read the progress of the group', error)
        await sleep(this.#options.clock, retryMs)
        wanted = wanted.filter(({ owned }) => owned)
      }
    }
  }

  async #follow(partition: OwnedPartition, committed: number | null): Promise<void> {
    const { follow, startFrom, onRecords, failed } = this.#options
    if (!partition.owned) return
    try {
      partition.committed = committed
      const from = committed === null ? startFrom : { offset: committed }
      const follower = await follow(partition, from, records => onRecords(partition, records))
      partition.follower = follower
      if (!partition.owned) await follower.close()
    } catch (error) {
      if (partition.owned) failed(error as Error)
    }
  }

  #commitRegularly(): void {
    if (this.#closed !== null) return
    this.#cancelCommit = this.#options.clock.after(
      commitMs,
      () => void this.#commit().then(() => this.#commitRegularly()),
    )
  }

  /** One at a time, so that an earlier offset never overwrites a later one. */
  #commit(): Promise<void> {
    this.#committing = this.#committing.then(() => this.#commitNow())
    return this.#committing
  }

  async #commitNow(): Promise<void> {
    const due = [...this.#partitions]
      .filter(({ owned, follower }) => owned && follower)
      .map(partition => ({ partition, offset: partition.position! }))
      .filter(({ partition, offset }) => offset !== partition.committed)
    if (due.length === 0) return
    try {
      const offsets = due.map(({ partition: { topic, partition }, offset }) => ({ topic, partition, offset }))
      await this.#options.commit(this.#member.synced, offsets)
      for (const { partition, offset } of due) partition.committed = offset
      this.#told.clear()
    } catch (error) {
      this.#tell('commit its progress', error)
    }
  }

  /** Logs a repeated error once. */
  #tell(what: string, error: unknown): void {
    const message = `a reader could not ${what}: ${(error as Error).message}`
    if (this.#told.isNew(message)) this.#options.telemetry.emit('bus.log', { level: 'warn', message })
  }
}
