import { partitionsOf } from '../bus/partitions.ts'
import type { Bus } from '../bus/port.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import { callbackLetter } from '../records/dead-letter.ts'
import { createEncoder } from '../records/encoder.ts'
import type { StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import { createStatusWriter } from '../records/status.ts'
import { safeText } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { hookUrl } from './hook-url.ts'
import { startReceiver } from './receiver.ts'
import { createHookTokens, type HookTokens } from './token.ts'

/** The tokens of the settings' secret; null without a secret. */
export function tokensOf({ callbacks }: Settings): HookTokens | null {
  const { secret } = callbacks
  return secret ? createHookTokens({ keys: () => secret.reveal() }) : null
}

/** Creates the hook for commands that have none; returns null without a public address. */
export function hookForCommands(
  settings: Settings,
  tokens: HookTokens | null,
  telemetry: Telemetry,
): ReturnType<typeof hookUrl> {
  const { publicUrl, urlMaxLength } = settings.callbacks
  if (!publicUrl || !tokens) return () => null
  const accounts = [...settings.gateway.accounts.keys()]
  const onCorrelationDropped = () => void telemetry.emit('hook.shortened', {})
  return hookUrl({ publicUrl, urlMaxLength, tokens, accounts, onCorrelationDropped })
}

interface ReceivingOptions {
  settings: Settings
  bus: Bus
  registry: SchemaRegistry
  telemetry: Telemetry
  tokens: HookTokens
  /** Answer of /healthz for load balancers. */
  healthy: () => boolean
}

export type Receiving = Awaited<ReturnType<typeof startReceiving>>

/**
 * The role `callbacks`: receives the gateway's callbacks and publishes status events. Listens once its producer has reached
 * the brokers.
 * @throws Error when a topic is missing; BusUnavailable; RegistryUnavailable
 */
export async function startReceiving({ settings, bus, registry, telemetry, tokens, healthy }: ReceivingOptions) {
  const { topics, callbacks } = settings
  const written = [topics.statuses, topics.deadLetters]
  const encode = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  await partitionsOf(bus, written)
  const publisher = await bus.publisher()
  await publisher.connect()
  const watch = watchWrites(bus, written, systemClock)
  const receiver = await startReceiver({
    port: callbacks.port,
    host: callbacks.host,
    tokens,
    telemetry,
    healthy,
    keepAliveMs: callbacks.keepAliveMs,
    statusRecord: createStatusWriter(topics.statuses, encode),
    deadLetter: (body, error) => callbackLetter(topics.deadLetters, body, error),
    keyOf: account => settings.gateway.accounts.get(account)?.apiKey.reveal() ?? '',
    publish: records => publisher.publish(records),
    published: watch.published,
  }).catch(error => {
    watch.close()
    throw error
  })
  return {
    port: receiver.port,
    /** Why callbacks cannot be accepted now; empty if they can. */
    reasons: (): string[] => {
      const trouble = watch.trouble()
      return trouble === null ? [] : [`callbacks cannot be published: ${trouble}`]
    },
    async close() {
      watch.close()
      await receiver.close()
      await publisher.close()
    },
  }
}

/** How often topics are checked, so that a receiver without callbacks notices an outage and its end. */
const lookMs = 2_000
/** How long a failed publish counts as an outage. Some causes, such as missing replicas, do not show in metadata. */
const failureMs = 10_000

/** Watches whether the receiver's topics are writable: by the outcome of each publish, and by their metadata. */
function watchWrites(bus: Pick<Bus, 'lookAt'>, topics: readonly string[], clock: Clock) {
  let trouble: string | null = null
  let failedAt = Number.NEGATIVE_INFINITY
  let isClosed = false
  let cancel = () => {}

  async function look(): Promise<void> {
    try {
      for (const topic of topics) {
        const look = await bus.lookAt(topic)
        if (look === null) throw new Error(`${topic} does not exist: create it with busgate topics create`)
        if (look.leaderless.length > 0) throw new Error(`${topic} has partitions without a leader: start their brokers`)
      }
      if (clock.monotonic() - failedAt >= failureMs) trouble = null
    } catch (error) {
      trouble = safeText((error as Error).message)
    }
    lookLater()
  }

  function lookLater(): void {
    if (!isClosed) cancel = clock.after(lookMs, () => void look())
  }

  lookLater()
  return {
    /** Why the topics are not writable; null if they are. */
    trouble: () => trouble,
    published(error: Error | null): void {
      trouble = error && safeText(error.message)
      failedAt = error ? clock.monotonic() : Number.NEGATIVE_INFINITY
    },
    close(): void {
      isClosed = true
      cancel()
    },
  }
}
