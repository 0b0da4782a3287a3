import type { Bus } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { callbackLetter } from '../records/dead-letter.ts'
import { createEncoder } from '../records/encoder.ts'
import type { StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import { createStatusWriter } from '../records/status.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { hookUrl } from './hook-url.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createHookTokens, type HookTokens } from './token.ts'

/** The tokens that the settings' secret makes and opens; null without a secret. */
export function tokensOf({ callbacks }: Settings): HookTokens | null {
  const { secret, tokenLifeMs } = callbacks
  return secret ? createHookTokens({ keys: () => secret.reveal(), tokenLifeMs }) : null
}

/** Makes the hook of commands that name none; without a public address they get none. */
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

export interface ReceivingOptions {
  settings: Settings
  bus: Bus
  registry: SchemaRegistry
  telemetry: Telemetry
  tokens: HookTokens
  /** What a load balancer is told that asks for /healthz. */
  healthy: () => boolean
}

/** The role `callbacks`: the gateway's callbacks in, status events out. */
export async function startReceiving({
  settings,
  bus,
  registry,
  telemetry,
  tokens,
  healthy,
}: ReceivingOptions): Promise<Receiver> {
  const { topics, callbacks } = settings
  const encode = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const publisher = await bus.publisher()
  const receiver = await startReceiver({
    port: callbacks.port,
    host: callbacks.host,
    tokens,
    telemetry,
    healthy,
    limits: callbacks,
    trustedProxies: callbacks.trustedProxies ?? [],
    statusRecord: createStatusWriter(topics.statuses, encode),
    deadLetter: (body, error) => callbackLetter(topics.deadLetters, body, error),
    publish: records => publisher.publish(records),
  })
  return {
    port: receiver.port,
    async close() {
      await receiver.close()
      await publisher.close()
    },
  }
}
