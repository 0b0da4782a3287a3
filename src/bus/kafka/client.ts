import type { ConnectionOptions as TlsOptions } from 'node:tls'
import kafkajs, { type ISocketFactory, type logCreator, type SASLOptions } from 'kafkajs'
import type { Telemetry } from '../../telemetry/events.ts'
import { registerCodecs } from '../batches/codecs.ts'
import type { Connect, Sasl, Security } from '../wire/connecting.ts'
import { forgetHalfReadAnswers, keepLeaderless, stopIdleTimers } from './internals.ts'

/**
 * KafkaClient is what writes: the wire, in one transaction for all partitions of a process, or kafkajs, in one for
 * each.
 */
export type KafkaClient = 'wire' | 'kafkajs'

export interface KafkaConnection extends Security {
  brokers: readonly string[]
  clientId: string
  /** Tests that cut the wire set these: they say how producers open a socket, and how everything else connects. */
  socketFactory?: ISocketFactory
  connect?: Connect
  telemetry: Telemetry
}

/** Times that worked through killed, frozen and rolled brokers (docs/design.md). */
const producerTimes = { connectionTimeout: 2000, requestTimeout: 3000 }
const producerRetry = { initialRetryTime: 50, maxRetryTime: 500, retries: 5, multiplier: 1.5 }

/** Makes the client of kafkajs with which records are written. */
export function producerKafka({
  brokers,
  clientId,
  ssl,
  sasl,
  socketFactory,
  telemetry,
}: KafkaConnection): kafkajs.Kafka {
  stopIdleTimers()
  forgetHalfReadAnswers()
  keepLeaderless()
  registerCodecs()
  return new kafkajs.Kafka({
    clientId,
    brokers: () => shuffled(brokers), // kafkajs never rotates away from a first broker that hangs
    ...(ssl ? { ssl: ssl === true ? true : tlsOf(ssl) } : {}),
    ...(sasl ? { sasl: saslOf(sasl) } : {}),
    ...(socketFactory ? { socketFactory } : {}),
    ...producerTimes,
    retry: producerRetry,
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

/** kafkajs reports these, though they belong to every transaction or rebalance, or to the settings chosen here. */
const ordinary = [
  /concurrent_transactions/i,
  /attempted to update a transaction while another concurrent operation/i,
  /group is rebalancing/i,
  /limiting retries for the idempotent producer/i,
]

function saslOf(sasl: Sasl): SASLOptions {
  if (sasl.mechanism === 'oauthbearer') {
    return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: await sasl.token() }) }
  }
  const { mechanism, username, password } = sasl
  return {
    mechanism,
    username,
    get password() {
      return password()
    },
  } as SASLOptions
}

/** kafkajs keeps the object and reads its properties at each connection, and each time it signs in. */
function tlsOf(ssl: () => TlsOptions): TlsOptions {
  return {
    get ca() {
      return ssl().ca
    },
    get cert() {
      return ssl().cert
    },
    get key() {
      return ssl().key
    },
  }
}

async function shuffled(brokers: readonly string[]): Promise<string[]> {
  return brokers
    .map(broker => ({ broker, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ broker }) => broker)
}
