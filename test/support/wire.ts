import { setTimeout } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { onTestFinished } from 'vitest'
import {
  type Answered,
  byTopic,
  joinGroup,
  leaveGroup,
  syncGroup,
  txnOffsetCommit,
} from '../../src/bus/cluster/apis.ts'
import { Brokers } from '../../src/bus/cluster/brokers.ts'
import { ProtocolError } from '../../src/bus/cluster/errors.ts'
import { RetryBudget } from '../../src/bus/cluster/retry-budget.ts'
import { maxMessageBytes } from '../../src/bus/kafka-bus.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import { fetchRecords } from '../../src/bus/read/fetch-api.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { committedOffsets } from '../../src/bus/transactions/committed-offsets.ts'
import type { CommittedOffset, CommittingMember } from '../../src/bus/transactions/transaction.ts'
import {
  TransactionalProducer,
  type TransactionalProducerOptions,
} from '../../src/bus/transactions/transactional-producer.ts'
import { initialiseProducer } from '../../src/bus/write/producer.ts'
import { IdempotentPublisher } from '../../src/bus/write/publisher.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { until } from './bus.ts'
import { openWired } from './wires.ts'

/** The member of a commit outside a group: no generation fences it. */
export const noMember: CommittingMember = { memberId: '', generation: -1, instanceId: null }

/** Opens the connections to these brokers. They are closed at the end of the test. */
export function openBrokers(seeds: readonly string[]): Brokers {
  const brokers = new Brokers({ clientId: 'busgate-test', seeds, clock: systemClock, telemetry: new Telemetry() })
  onTestFinished(() => brokers.close())
  return brokers
}

/** The record limits of topics, as the brokers report them. */
export function openLimits(brokers: Brokers): RecordLimits {
  const ask = (topic: string) => maxMessageBytes(brokers, systemClock, topic)
  return new RecordLimits({ ask, telemetry: new Telemetry() })
}

type ProducerOptions = Pick<TransactionalProducerOptions, 'transactionalId' | 'groupId'> &
  Partial<TransactionalProducerOptions>

export function openProducer(seeds: string[], options: ProducerOptions): TransactionalProducer {
  const brokers = openBrokers(seeds)
  const limits = openLimits(brokers)
  return new TransactionalProducer({ brokers, clock: systemClock, compression: 'none', limits, ...options })
}

export function openPublisher(seeds: string[]): IdempotentPublisher {
  const brokers = openBrokers(seeds)
  return new IdempotentPublisher({ brokers, clock: systemClock, compression: 'zstd', limits: openLimits(brokers) })
}

const { MemberMetadata } = kafkajs.AssignerProtocol

interface MemberIdentity extends CommittingMember {
  groupId: string
}

/** Joins a group as its only member. */
export async function joinAlone(brokers: Brokers, groupId: string): Promise<MemberIdentity> {
  const metadata = MemberMetadata.encode({ version: 0, topics: ['any'], userData: Buffer.alloc(0) })
  const join = (memberId: string) => {
    const protocols = [{ name: 'test', metadata }]
    const target = { group: groupId }
    return brokers.ask(target, joinGroup, [groupId, 30_000, 30_000, memberId, null, 'consumer', protocols])
  }
  const { memberId, generationId: generation } = await join('').catch(error => {
    if (error instanceof ProtocolError && error.type === 'MEMBER_ID_REQUIRED') {
      return join((error.answer as Answered<typeof joinGroup>).memberId)
    }
    throw error
  })
  const member = { groupId, memberId, generation, instanceId: null }
  const assignments = [{ memberId, assignment: Buffer.alloc(0) }]
  await brokers.ask({ group: groupId }, syncGroup, [
    ...([groupId, generation, memberId, null] as const),
    ...(['consumer', 'test', assignments] as const),
  ])
  return member
}

export async function leave(brokers: Brokers, { groupId, memberId }: MemberIdentity): Promise<void> {
  await brokers.ask({ group: groupId }, leaveGroup, [groupId, [{ memberId }]])
}

/** The group's committed offset, once no open transaction is about to change it. */
export async function stableOffset(brokers: Brokers, groupId: string, tp: TopicPartition): Promise<number | null> {
  let offset: number | null = null
  await until(async () => {
    const [progress] = await committedOffsets(brokers, groupId, [tp])
    if (progress!.error) throw progress!.error
    offset = progress!.committed?.offset ?? null
  })
  return offset
}

/** The committed values of a topic by partition, read once no transaction is open. */
export async function readValues(seeds: string[], topic: string): Promise<Map<number, string[]>> {
  const { bus } = openWired({ brokers: seeds, groupId: 'reader' })
  const values = new Map<number, string[]>()
  const reader = await bus.read([topic], 'earliest', ({ partition }, records) => {
    values.set(partition, [...(values.get(partition) ?? []), ...records.map(({ value }) => String(value))])
  })
  await reader.caughtUp('behind open transactions')
  return values
}

interface LateRequests {
  transactionalId: string
  groupId: string
  offsets: readonly CommittedOffset[]
  /** The longest pause between two requests, in milliseconds. If one hits every commit of a group, its offsets never stay. */
  pauseMs: number
}

/** Keeps sending offset commits of a producer that the next one with the same transactional id fences. */
export async function sendLateCommits(
  seeds: string[],
  { pauseMs, transactionalId, groupId, offsets }: LateRequests,
): Promise<{ stop(): Promise<Set<string>> }> {
  const { identity } = await initialiseProducer(openBrokers(seeds), transactionalId, new RetryBudget(systemClock))
  const topics = byTopic(offsets, ({ partition, offset, metadata }) => ({
    partitionIndex: partition,
    committedOffset: BigInt(offset),
    committedLeaderEpoch: -1,
    committedMetadata: metadata,
  }))
  const refusals = new Set<string>()
  let isOver = false
  const send = async (brokers: Brokers) => {
    while (!isOver) {
      const sent = brokers.ask({ group: groupId }, txnOffsetCommit, [
        ...([transactionalId, groupId, identity.producerId, identity.epoch] as const),
        ...([noMember.generation, noMember.memberId, null, topics] as const),
      ])
      await sent.catch(({ type }: ProtocolError) => refusals.add(type))
      await setTimeout(Math.random() * pauseMs) // so that requests arrive at every stage of a commit
    }
  }
  const sending = send(openBrokers(seeds))
  return {
    /** @returns the errors of the requests */
    async stop() {
      isOver = true
      await sending
      return refusals
    },
  }
}

/** The codec numbers of the first batches of partition 0. */
export async function codecsOf(seed: string, topic: string): Promise<Set<number>> {
  const tp = { topic, partition: 0 }
  const size = { maxBytes: 10 ** 6, partitionBytes: 10 ** 6 }
  const request = { waitMs: 0, rack: '', partitions: [{ tp, offset: 0 }], ...size }
  const { partitions } = await openBrokers([seed]).ask({ leader: tp }, fetchRecords, [request])
  const { bytes } = partitions[0]!
  const found = new Set<number>()
  for (let at = 0; at < bytes.length; at += 12 + bytes.readInt32BE(at + 8)) found.add(bytes.readInt16BE(at + 21) & 7)
  return found
}
