import { partitionsOf } from '../bus/partitions.ts'
import type { Bus } from '../bus/port.ts'
import { systemClock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import { callbackLetter } from '../records/dead-letter.ts'
import { createEncoder } from '../records/encoder.ts'
import type { StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import { createStatusWriter } from '../records/status.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { hookUrl } from './hook-url.ts'
import { startReceiver } from './receiver.ts'
import { createHookTokens, type HookTokens } from './token.ts'
import { watchWrites } from './write-watch.ts'

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
