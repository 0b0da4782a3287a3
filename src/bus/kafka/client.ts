import { createRequire } from 'node:module'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import type { ISocketFactory, Kafka, logCreator, SASLOptions } from 'kafkajs'
import type { Telemetry } from '../../telemetry/events.ts'
import { codecNumbers, pack, unpack } from '../batches/codecs.ts'
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

const require = createRequire(import.meta.url)

/** Makes the client of kafkajs with which records are written. Its 143 files are loaded here: who does not write with it has none. */
export function producerKafka({ brokers, clientId, ssl, sasl, socketFactory, telemetry }: KafkaConnection): Kafka {
  const kafkajs: typeof import('kafkajs') = require('kafkajs')
  stopIdleTimers()
  forgetHalfReadAnswers()
  keepLeaderless()
  for (const codec of [codecNumbers.gzip, codecNumbers.zstd]) kafkajs.CompressionCodecs[codec] = () => codecOf(codec)
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

/** kafkajs itself knows gzip alone, packed as small as it goes. */
function codecOf(codec: number) {
  return {
    compress: async ({ buffer }: { buffer: Buffer }) => pack(codec, buffer),
    decompress: async (bytes: Buffer) => unpack(codec, bytes),
  }
}

/** kafkajs's numbers of its levels. */
const levels: Partial<Record<number, 'error' | 'warn'>> = { 1: 'error', 2: 'warn' }

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
    telemetry.emit('bus.log', { level: levels[level] ?? 'info', message: `${namespace}: ${text}` })
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
