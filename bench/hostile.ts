import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { tokensOf } from '../src/callbacks/role.ts'
import { UsageError } from '../src/cli/framework/command.ts'
import { createMissingTopics } from '../src/cli/kafka/create-topics.ts'
import { loadSettings } from '../src/config/index.ts'
import { freePorts } from '../test/support/local-kafka/ports.ts'
import type { Attack } from './attackers.ts'
import { type CallbacksOptions, run, sender, untilReady } from './callbacks.ts'
import { livenessMs, spawnAsCharted, watchHealth } from './limits.ts'
import { findPlace } from './place.ts'
import { peakMemoryMiBOf } from './processes.ts'
import { ranks } from './ranks.ts'

export interface HostileOptions {
  /** Names of `attacks`; empty: each, and nobody. */
  attacks: readonly string[]
  /** Honest callbacks a second. */
  rate: number
  seconds: number
  /** Whether the receiver's bus is in its own process, whose memory then holds all events, rather than a real Kafka. */
  embedded: boolean
}

/** The figures of honest callbacks from another address beside one attack, and of what the receiver's process took. */
interface Row {
  beside: string
  p50Ms: number
  p99Ms: number
  maxMs: number
  slowestHealthMs: number
  /** Honest ones that were not answered 200. */
  lost: number
  receiver: string
  /** Most that the process has held, in its control group where there is one. */
  peakMiB: number
  limitMiB: number | null
  attacker: string
  /** Whether the receiver lives, its liveness probe passed, and every honest callback was answered. */
  held: boolean
}

const honest = '127.0.0.1'
/** Delays honest callbacks, as SECURITY.md says. */
const mayDelay = 'valid'
/** An attack whose name ends so comes from many addresses rather than from one. */
const spread = ' from 64 addresses'

/**
 * A receiver as the chart runs it, in a process of its own with the chart's memory, beside one attack at a time. Attackers
 * run at a low priority: elsewhere they would not take the receiver's CPU. Linux only, for its loopback addresses.
 */
export async function measureHostile(options: HostileOptions): Promise<Row[]> {
  const { attacks } = await import('./attackers.ts')
  const known = Object.keys(attacks)
  const unknown = options.attacks.find(name => name !== 'nobody' && !known.includes(name.replace(spread, '')))
  if (unknown) throw new UsageError(`hostile: there is no attack ${unknown}, only ${known.join(', ')} and nobody`)
  const place = options.embedded ? null : await findPlace()
  const bus = place
    ? { BUSGATE_KAFKA_BROKERS: place.brokers.join(), BUSGATE_REGISTRY_URL: place.registryUrl }
    : { BUSGATE_KAFKA_BROKERS: 'embedded' }
  const names =
    options.attacks.length > 0
      ? options.attacks
      : [
          'nobody',
          ...Object.keys(attacks),
          ...['forged', 'silent', 'heads', 'fields', 'pipelined'].map(kind => kind + spread),
        ]
  const rows: Row[] = []
  for (const name of names) {
    rows.push(await beside(name, bus, options))
    process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`)
  }
  await place?.stop()
  return rows
}

async function beside(name: string, bus: object, { rate, seconds }: HostileOptions): Promise<Row> {
  const [port = 0, telemetryPort = 0] = await freePorts(2)
  const topics = `bench-${Date.now().toString(36)}`
  const env = {
    ...bus,
    BUSGATE_ROLES: 'callbacks',
    BUSGATE_TOPICS_STATUSES: `${topics}-statuses`,
    BUSGATE_TOPICS_DEAD_LETTERS: `${topics}-dead-letters`,
    BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-benchmark',
    BUSGATE_CALLBACKS_PORT: String(port),
    BUSGATE_TELEMETRY_PORT: String(telemetryPort),
  }
  const settings = loadSettings({ env })
  const { statuses, deadLetters } = settings.topics
  if (settings.kafka.brokers !== 'embedded')
    await createMissingTopics(
      settings,
      [statuses, deadLetters].map(topic => ({ topic, partitions: 4 })),
    )
  const { child: receiver, group } = spawnAsCharted('callbacks', env, 'pipe')
  const lastLines = linesOf(receiver.stdout!)
  let end: string | null = null
  receiver.on('exit', (code, signal) => {
    end = `died (${signal ?? code})`
  })
  const died = once(receiver, 'close').then(() => {
    throw new Error(`the receiver did not start; its last lines:\n${lastLines.join('\n')}`)
  })
  died.catch(() => {})
  await Promise.race([untilReady(`http://${honest}:${telemetryPort}/readyz`), died])
  const tokens = tokensOf(settings)!
  const token = (id: number) =>
    tokens.issue({
      account: 'default',
      id: BigInt(id),
      type: 'sms',
      correlationId: `order-${id}`,
      tenant: null,
      campaign: null,
      country: 'UA',
      trace: null,
    })
  const valid = `/hooks/${token(42)}`
  const send = sender(`http://${honest}:${port}`, 64, token)
  const load: CallbacksOptions = { rate, seconds, connections: 64, partitions: 4 }
  await run(load, 1, 3, send)

  const from = Array.from({ length: name.endsWith(spread) ? 64 : 1 }, (_, i) => `127.0.66.${i + 1}`)
  const attack = { kind: name.replace(spread, ''), port, from, valid, forged: `${valid.slice(0, -2)}AA` }
  const attacker =
    name === 'nobody' ? null : fork(new URL('attackers.ts', import.meta.url), [JSON.stringify(attack as Attack)])
  if (attacker?.pid) setPriority(attacker.pid, 15)
  // To start a process stops this one for a moment.
  if (attacker) await once(attacker, 'message')
  attacker?.send('begin')
  let over = false
  const health = watchHealth(`http://${honest}:${telemetryPort}/healthz`, () => over)
  const { latencies, accepted, sent } = await run(load, 1e9, seconds, send)
  over = true
  const slowestHealth = await health
  const outcome = end ?? 'lives'
  if (end !== null)
    process.stderr.write(`beside ${name} the receiver ${outcome}; its last lines:\n${lastLines.join('\n')}\n`)
  const told = attacker ? await farewell(attacker) : ''
  const peakMiB = Math.round(group ? group.peak() / 2 ** 20 : end === null ? peakMemoryMiBOf(receiver.pid!) : 0)
  receiver.kill()
  if (end === null) await once(receiver, 'exit')
  group?.remove()
  const { p50, p99, max } = ranks(latencies)!
  const lost = sent - accepted.size
  const held = outcome === 'lives' && slowestHealth < livenessMs && (lost === 0 || name === mayDelay)
  return {
    beside: name,
    p50Ms: tenths(p50),
    p99Ms: tenths(p99),
    maxMs: tenths(max),
    slowestHealthMs: tenths(slowestHealth),
    lost,
    receiver: outcome,
    peakMiB,
    limitMiB: group && Math.round(group.limit / 2 ** 20),
    attacker: told,
    held,
  }
}

/** The last lines that a process wrote: why it ended stands there. */
function linesOf(output: Readable): readonly string[] {
  const kept: string[] = []
  createInterface({ input: output }).on('line', line => {
    kept.push(line)
    if (kept.length > 5) kept.shift()
  })
  return kept
}

const tenths = (value: number) => Math.round(value * 10) / 10

async function farewell(attacker: ReturnType<typeof fork>): Promise<string> {
  const told = once(attacker, 'message').then(([seen]) => JSON.stringify(seen))
  const gone = once(attacker, 'exit').then(() => 'died')
  attacker.send('what have you seen?')
  const text = await Promise.race([told, gone])
  attacker.kill('SIGKILL')
  return text
}
