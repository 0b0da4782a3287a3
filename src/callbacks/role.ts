import type { Bus } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { createEncoder } from '../records/encoder.ts'
import type { StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
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
  return hookUrl({ publicUrl, urlMaxLength, tokens, onCorrelationDropped: () => telemetry.emit('hook.shortened', {}) })
}

export interface ReceivingOptions {
  settings: Settings
  bus: Bus
  registry: SchemaRegistry
  telemetry: Telemetry
  tokens: HookTokens
}

/** The role `callbacks`: the gateway's callbacks in, status events out. */
export async function startReceiving({
  settings,
  bus,
  registry,
  telemetry,
  tokens,
}: ReceivingOptions): Promise<Receiver> {
  const { topics, callbacks } = settings
  const encode = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const publisher = await bus.publisher()
  const receiver = await startReceiver({
    port: callbacks.port,
    host: callbacks.host,
    tokens,
    telemetry,
    publish: events =>
      publisher.publish(
        events.map(event => ({ topic: topics.statuses, key: Buffer.from(String(event.id)), value: encode(event) })),
      ),
    deadLetter: async (body, { code, message }) => {
      const headers = {
        'busgate.error.stage': 'callback',
        'busgate.error.code': code,
        'busgate.error.message': message,
        'busgate.error.timestamp': String(Date.now()),
      }
      await publisher.publish([{ topic: topics.deadLetters, key: null, value: body, headers }])
      telemetry.emit('deadLetter.published', { stage: 'callback', code, count: 1 })
    },
  })
  return {
    port: receiver.port,
    async close() {
      await receiver.close()
      await publisher.close()
    },
  }
}
