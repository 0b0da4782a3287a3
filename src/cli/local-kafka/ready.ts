import { setTimeout } from 'node:timers/promises'
import { Kafka, type KafkaConfig, logLevel } from 'kafkajs'
import { stopIdleTimers } from '../../bus/kafka/internals.ts'
import type { Child } from './child.ts'

const patience = 60_000

/** Asks until the answer is yes, the child has ended or a minute is over. */
export async function untilReady(name: string, ready: () => Promise<boolean>, child?: Child): Promise<void> {
  const deadline = Date.now() + patience
  let cause: unknown
  const asked = () =>
    ready().catch((error: unknown) => {
      cause = error
      return false
    })
  while (!(await asked())) {
    if (child && !child.running()) throw notStarted(`${name} ${(await child.ended).how}`, cause, child)
    if (Date.now() > deadline) throw notStarted(`${name} did not answer within ${patience / 1000} s`, cause, child)
    await setTimeout(50)
  }
}

function notStarted(what: string, cause: unknown, child?: Child): Error {
  const advice = 'A port in use, too little memory and a JVM older than 17 are the usual reasons.'
  const log = child ? ` The last lines of its log:\n${child.tail()}` : ''
  return new Error(`${what}. ${advice}${log}`, { cause })
}

function quietKafka(config: KafkaConfig): Kafka {
  stopIdleTimers()
  return new Kafka({ clientId: 'warm-up', requestTimeout: 5000, logLevel: logLevel.NOTHING, ...config })
}

/** The ids of the nodes that are up, as the node at this address sees them. */
export async function nodesSeenFrom(address: string): Promise<number[]> {
  const admin = quietKafka({ brokers: [address], retry: { retries: 0 } }).admin()
  try {
    await admin.connect()
    return (await admin.describeCluster()).brokers.map(({ nodeId }) => nodeId)
  } finally {
    await admin.disconnect()
  }
}

/**
 * Has the cluster make its internal topics, so that the first transaction and the first group do not meet
 * COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR or GROUP_LOAD_IN_PROGRESS.
 */
export async function warmUp(brokers: string[]): Promise<void> {
  const kafka = quietKafka({ brokers, retry: { initialRetryTime: 50 } })
  await Promise.all([
    untilReady("Kafka's transaction coordinator", () => runsTransactions(kafka)),
    untilReady("Kafka's group coordinator", () => knowsGroups(kafka)),
  ])
}

async function runsTransactions(kafka: Kafka): Promise<boolean> {
  const producer = kafka.producer({ transactionalId: 'warm-up', idempotent: true })
  try {
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.abort()
    return true
  } finally {
    await producer.disconnect()
  }
}

async function knowsGroups(kafka: Kafka): Promise<boolean> {
  const admin = kafka.admin()
  try {
    await admin.connect()
    await admin.fetchOffsets({ groupId: 'warm-up' })
    return true
  } finally {
    await admin.disconnect()
  }
}
