import type { Assigner, PartitionAssigner } from 'kafkajs'
import kafkajs from 'kafkajs'
import { type Clock, sleep } from '../../clock.ts'
import type { GroupEvents } from '../session/driver.ts'
import { markAborted } from './aborted.ts'
import type { FetchRequest, InternalBroker, InternalCluster } from './internals.ts'

export interface MembershipHookOptions {
  events: Pick<GroupEvents, 'joining' | 'joinFailed'>
  clock: Clock
  sessionTimeoutMs: number
}

/** An unanswered heartbeat would hold a dead coordinator until kafkajs gives up and crashes. */
const heartbeatLimitMs = 4_000
const loadingRetryMs = 200
const loadingRetries = 100
/** A lease is never longer than this, whatever the session time-out. */
const longestLeaseMs = 10_000

const key = (topic: string, partition: number) => `${topic}/${partition}`

/**
 * What kafkajs has no hook for: a drain before each join, the lease from heartbeats that were answered, a limit to
 * heartbeats, and a correct read_committed. The assigner's factory is the one place that is handed the consumer's cluster.
 */
export class MembershipHook {
  readonly #options: MembershipHookOptions
  readonly #fetchedFrom = new Map<string, number>()
  #cluster: InternalCluster | null = null
  #leaseUntil = Number.NEGATIVE_INFINITY
  /** Monotonic milliseconds of the last sign of life from the coordinator. */
  lastHeartbeat: number

  constructor(options: MembershipHookOptions) {
    this.#options = options
    this.lastHeartbeat = options.clock.monotonic()
  }

  readonly assigner: PartitionAssigner = config => {
    const cluster = config.cluster as unknown as InternalCluster
    this.#cluster = cluster
    const findGroupCoordinator = cluster.findGroupCoordinator.bind(cluster)
    const findBroker = cluster.findBroker.bind(cluster)
    cluster.findGroupCoordinator = async options => this.#coordinator(await findGroupCoordinator(options))
    cluster.findBroker = async options => this.#reader(await findBroker(options))
    return kafkajs.PartitionAssigners.roundRobin(config) as Assigner
  }

  leaseUntil(): number {
    return this.#leaseUntil
  }

  partitions(topic: string): number {
    return this.#cluster?.findTopicPartitionMetadata(topic).length ?? 0
  }

  /** Where the last fetch of the partition began. */
  fetchedFrom(topic: string, partition: number): number | undefined {
    return this.#fetchedFrom.get(key(topic, partition))
  }

  #coordinator(broker: InternalBroker): InternalBroker {
    const { events, clock } = this.#options
    const hooked: InternalBroker = Object.create(broker)
    hooked.heartbeat = async payload => {
      const sentAt = clock.monotonic()
      const answer = await this.#heartbeat(broker, payload)
      this.#extendLease(sentAt)
      return answer
    }
    hooked.joinGroup = async payload => {
      await events.joining()
      this.#leaseUntil = Number.NEGATIVE_INFINITY
      return this.#join(() => broker.joinGroup(payload))
    }
    hooked.syncGroup = async payload => {
      const sentAt = clock.monotonic()
      const answer = await this.#join(() => broker.syncGroup(payload))
      this.#extendLease(sentAt)
      return answer
    }
    return hooked
  }

  async #heartbeat(broker: InternalBroker, payload: unknown): Promise<unknown> {
    const { clock } = this.#options
    let cancel = () => {}
    const limit = new Promise<never>((_, reject) => {
      cancel = clock.after(heartbeatLimitMs, () => reject(new Error('the coordinator does not answer heartbeats')))
    })
    try {
      return await Promise.race([broker.heartbeat(payload), limit])
    } catch (error) {
      if ((error as { type?: string }).type) throw error
      // without a type kafkajs would stay with the dead coordinator; with this one it looks for the new one
      throw Object.assign(new Error((error as Error).message), { type: 'NOT_COORDINATOR_FOR_GROUP' })
    } finally {
      cancel()
    }
  }

  /** A coordinator that is still loading the group is asked again; any other failure lets the sessions go on. */
  async #join(request: () => Promise<unknown>): Promise<unknown> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await request()
      } catch (error) {
        if ((error as { type?: string }).type !== 'GROUP_LOAD_IN_PROGRESS' || attempt >= loadingRetries) {
          this.#options.events.joinFailed()
          throw error
        }
        await sleep(this.#options.clock, loadingRetryMs)
      }
    }
  }

  #extendLease(sentAt: number): void {
    this.lastHeartbeat = this.#options.clock.monotonic()
    this.#leaseUntil = sentAt + Math.min(this.#options.sessionTimeoutMs, longestLeaseMs)
  }

  #reader(broker: InternalBroker): InternalBroker {
    const hooked: InternalBroker = Object.create(broker)
    hooked.fetch = async request => {
      const answer = await broker.fetch(request)
      this.#noteFetched(request)
      for (const { partitions } of answer.responses) {
        for (const partition of partitions) {
          if (!partition.abortedTransactions?.length) continue
          markAborted(partition.messages, partition.abortedTransactions)
          partition.abortedTransactions = []
        }
      }
      return answer
    }
    return hooked
  }

  #noteFetched(request: FetchRequest): void {
    for (const { topic, partitions } of request.topics) {
      for (const { partition, fetchOffset } of partitions) {
        this.#fetchedFrom.set(key(topic, partition), Number(fetchOffset))
      }
    }
  }
}
