import kafkajs, { type ISocketFactory, type KafkaConfig, type logCreator, type SASLOptions } from 'kafkajs'
import type { Telemetry } from '../../telemetry/events.ts'
import { registerCodecs } from './codecs.ts'
import { forgetHalfReadAnswers, stopIdleTimers } from './internals.ts'

export interface KafkaConnection {
  brokers: readonly string[]
  clientId: string
  ssl?: KafkaConfig['ssl']
  sasl?: SASLOptions
  /** For proxies, and for tests that cut the wire. */
  socketFactory?: ISocketFactory
  telemetry: Telemetry
}

/** Times that worked through killed, frozen and rolled brokers (docs/design.md). */
const sessionTimes = { connectionTimeout: 2000, requestTimeout: 3000 }
const sessionRetry = { initialRetryTime: 50, maxRetryTime: 500, retries: 5, multiplier: 1.5 }
/** requestTimeout must exceed the session time-out: kafkajs uses it for SyncGroup too. */
const consumerTimes = { connectionTimeout: 2000, requestTimeout: 15_000 }
const consumerRetry = { initialRetryTime: 100, maxRetryTime: 1000, retries: 20, multiplier: 1.5 }
/** Fetches may be large and the wire slow. */
const readerTimes = { connectionTimeout: 2000, requestTimeout: 10_000 }

/** One Kafka object for the group's consumer, another for sessions: they would share a map of committed offsets. */
export function consumerKafka(connection: KafkaConnection): kafkajs.Kafka {
  return create(connection, { ...consumerTimes, retry: consumerRetry })
}

export function sessionKafka(connection: KafkaConnection): kafkajs.Kafka {
  return create(connection, { ...sessionTimes, retry: sessionRetry })
}

/** For reading without a group. */
export function readerKafka(connection: KafkaConnection): kafkajs.Kafka {
  return create(connection, { ...readerTimes, retry: sessionRetry })
}

function create(
  { brokers, clientId, ssl, sasl, socketFactory, telemetry }: KafkaConnection,
  times: Partial<KafkaConfig>,
) {
  stopIdleTimers()
  forgetHalfReadAnswers()
  registerCodecs()
  return new kafkajs.Kafka({
    clientId,
    brokers: () => shuffled(brokers), // kafkajs never rotates away from a first broker that hangs
    ...(ssl ? { ssl } : {}),
    ...(sasl ? { sasl } : {}),
    ...(socketFactory ? { socketFactory } : {}),
    ...times,
    logLevel: kafkajs.logLevel.WARN,
    logCreator: () => logTo(telemetry),
  })
}

const levels = { [kafkajs.logLevel.ERROR]: 'error', [kafkajs.logLevel.WARN]: 'warn' } as const

/** A broker that is away is complained of many times a second. */
const repeatAfterMs = 10_000

function logTo(telemetry: Telemetry): ReturnType<logCreator> {
  const lastLogged = new Map<string, number>()
  return ({ level, namespace, log }) => {
    const text = log.error ? `${log.message}: ${String(log.error)}` : log.message
    if (ordinary.some(pattern => pattern.test(text))) return
    const now = performance.now()
    if (now - (lastLogged.get(text) ?? -repeatAfterMs) < repeatAfterMs) return
    if (lastLogged.size > 1000) lastLogged.clear()
    lastLogged.set(text, now)
    const name = level in levels ? levels[level as keyof typeof levels] : 'info'
    telemetry.emit('bus.log', { level: name, message: `${namespace}: ${text}` })
  }
}

/** What kafkajs reports though it belongs to every transaction or rebalance, or to the settings chosen here. */
const ordinary = [
  /concurrent_transactions/i,
  /attempted to update a transaction while another concurrent operation/i,
  /group is rebalancing/i,
  /limiting retries for the idempotent producer/i,
]

async function shuffled(brokers: readonly string[]): Promise<string[]> {
  return brokers
    .map(broker => ({ broker, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ broker }) => broker)
}
