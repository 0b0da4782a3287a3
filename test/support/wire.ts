import { setTimeout } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { onTestFinished } from 'vitest'
import { committedOffsets } from '../../src/bus/kafka/committed-offsets.ts'
import { maxMessageBytes } from '../../src/bus/kafka/topic-config.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { Brokers } from '../../src/bus/wire/brokers.ts'
import { ProtocolError } from '../../src/bus/wire/errors.ts'
import {
  type JoinAnswer,
  joinGroup,
  leaveGroup,
  type MemberIdentity,
  syncGroup,
} from '../../src/bus/wire/group-apis.ts'
import { initialiseProducer } from '../../src/bus/wire/initialise.ts'
import { Patience } from '../../src/bus/wire/patience.ts'
import { IdempotentPublisher } from '../../src/bus/wire/publisher.ts'
import { type CommittingMember, type OffsetsRequest, txnOffsetCommit } from '../../src/bus/wire/transaction-apis.ts'
import { TransactionalProducer, type TransactionalProducerOptions } from '../../src/bus/wire/transactional-producer.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { until } from './bus.ts'
import { openWired } from './wires.ts'

/** What is committed as this is fenced by no generation. */
export const noMember: CommittingMember = { memberId: '', generation: -1, instanceId: null }

/** The wire to these brokers, which is closed when the test has ended. */
export function openBrokers(seeds: readonly string[]): Brokers {
  const brokers = new Brokers({ clientId: 'busgate-test', seeds, clock: systemClock, telemetry: new Telemetry() })
  onTestFinished(() => brokers.close())
  return brokers
}

/** What topics take, as the brokers tell it. */
export function openLimits(brokers: Brokers): RecordLimits {
  const ask = (topic: string) => maxMessageBytes(brokers, systemClock, topic)
  return new RecordLimits({ ask, clock: systemClock, telemetry: new Telemetry() })
}

type ProducerWishes = Pick<TransactionalProducerOptions, 'transactionalId' | 'groupId'> &
  Partial<TransactionalProducerOptions>

export async function openProducer(seeds: string[], wishes: ProducerWishes): Promise<TransactionalProducer> {
  const brokers = openBrokers(seeds)
  const limits = openLimits(brokers)
  const producer = new TransactionalProducer({ brokers, clock: systemClock, compression: 'none', limits, ...wishes })
  await producer.init()
  return producer
}

export function openPublisher(seeds: string[]): IdempotentPublisher {
  const brokers = openBrokers(seeds)
  return new IdempotentPublisher({ brokers, clock: systemClock, compression: 'zstd', limits: openLimits(brokers) })
}

const { MemberMetadata } = kafkajs.AssignerProtocol

/** Joins a group in which nobody else is. */
export async function joinAlone(brokers: Brokers, groupId: string): Promise<MemberIdentity> {
  const metadata = MemberMetadata.encode({ version: 0, topics: ['any'], userData: Buffer.alloc(0) })
  const join = (memberId: string) => {
    const own = { groupId, memberId, instanceId: null, protocols: [{ name: 'test', metadata }] }
    const limits = { sessionTimeoutMs: 30_000, rebalanceTimeoutMs: 30_000 }
    return brokers.ask({ group: groupId }, joinGroup, { ...own, ...limits }, { line: 'join' })
  }
  const { memberId, generation } = await join('').catch(error => {
    if (error instanceof ProtocolError && error.type === 'MEMBER_ID_REQUIRED') {
      return join((error.answer as JoinAnswer).memberId)
    }
    throw error
  })
  const member = { groupId, memberId, generation, instanceId: null }
  const assignments = [{ memberId, assignment: Buffer.alloc(0) }]
  await brokers.ask({ group: groupId }, syncGroup, { ...member, protocol: 'test', assignments }, { line: 'join' })
  return member
}

export async function leave(brokers: Brokers, member: MemberIdentity): Promise<void> {
  await brokers.ask({ group: member.groupId }, leaveGroup, member)
}

/** The group's offset, once no transaction is about to change it. */
export async function stableOffset(brokers: Brokers, groupId: string, tp: TopicPartition): Promise<number | null> {
  let offset: number | null = null
  await until(async () => {
    const [progress] = await committedOffsets(brokers, groupId, [tp])
    if (progress!.error) throw progress!.error
    offset = progress!.committed?.offset ?? null
  })
  return offset
}

/** Everything on a topic that is committed, by partition, when no transaction is open. */
export async function readValues(seeds: string[], topic: string): Promise<Map<number, string[]>> {
  const { bus } = openWired({ brokers: seeds, groupId: 'reader', telemetry: new Telemetry() })
  const values = new Map<number, string[]>()
  const reader = await bus.read([topic], 'earliest', ({ partition }, records) => {
    values.set(partition, [...(values.get(partition) ?? []), ...records.map(({ value }) => String(value))])
  })
  await reader.caughtUp('behind open transactions')
  await bus.close()
  return values
}

interface LateRequests extends Pick<OffsetsRequest, 'transactionalId' | 'groupId' | 'offsets'> {
  /** The longest pause between two, in milliseconds. Whose commits are all met by one never keeps its progress. */
  pauseMs: number
}

/** Progress of an owner whom the next one with this id fences, on its way to the coordinator again and again. */
export async function comeLate(
  seeds: string[],
  { pauseMs, ...late }: LateRequests,
): Promise<{ stop(): Promise<Set<string>> }> {
  const identity = await initialiseProducer(openBrokers(seeds), late.transactionalId, new Patience(systemClock))
  const request = { ...late, ...identity, member: noMember }
  const refusals = new Set<string>()
  let isOver = false
  const send = async (brokers: Brokers) => {
    while (!isOver) {
      const sent = brokers.ask({ group: late.groupId }, txnOffsetCommit, request)
      await sent.catch(({ type }: ProtocolError) => refusals.add(type))
      await setTimeout(Math.random() * pauseMs) // they are to come at every moment of a commit
    }
  }
  const sending = send(openBrokers(seeds))
  return {
    /** @returns how they were refused */
    async stop() {
      isOver = true
      await sending
      return refusals
    },
  }
}
