import { createHash } from 'node:crypto'
import type { Publisher } from '../../src/bus/port.ts'
import { parseCallback } from '../../src/callbacks/body.ts'
import { statusEvent } from '../../src/callbacks/event.ts'
import { callbackOriginOf, hookUrl } from '../../src/callbacks/hook-url.ts'
import { sharePublish } from '../../src/callbacks/shared-publish.ts'
import { createHookTokens, type HookTokens } from '../../src/callbacks/token.ts'
import type { Clock } from '../../src/clock.ts'
import type { SendingOptions } from '../../src/dispatch/role.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { createStatusWriter, type NewStatusEvent } from '../../src/records/status.ts'

const publicUrl = 'https://hooks.example'
const publishMs = 5000

/** The fleet's hook tokens: without chance, so that a seed's addresses are always the same. */
export function fleetTokens(clock: Clock): HookTokens {
  let issued = 0
  return createHookTokens({
    keys: () => [{ kid: 'k1', secret: 'a-secret-of-the-simulation' }],
    tokenLifeMs: 24 * 3_600_000,
    now: clock.now,
    random: bytes =>
      createHash('shake256', { outputLength: bytes.length }).update(String(issued++)).digest().copy(bytes),
  })
}

export function hooksOf(tokens: HookTokens): SendingOptions['hookFor'] {
  return hookUrl({ publicUrl, urlMaxLength: 255, tokens, accounts: ['default'], onCorrelationDropped: () => {} })
}

/** Takes a callback in; resolves with the HTTP status of the answer. */
export type Receive = (url: string, body: string) => Promise<number>

/** A process's receiver: everything but the sockets. */
export function receiverOf(
  publisher: Publisher,
  tokens: HookTokens,
  clock: Clock,
  topic: string,
  encode: (event: StatusEvent) => Buffer,
): Receive {
  const write = createStatusWriter(topic, encode)
  const shared = sharePublish<NewStatusEvent>(
    events => publisher.publish(events.map(event => write(event, null))),
    { timeoutMs: publishMs, everyMs: 5 },
    clock,
  )
  return async (url, text) => {
    const bytes = Buffer.from(text)
    const origin = callbackOriginOf(url.slice(publicUrl.length), tokens)
    const body = parseCallback(bytes)
    if (typeof origin === 'string' || typeof body === 'string') return 400
    const made = statusEvent(origin, body, clock.now())
    if (!made.ok) return 400
    return shared.add(made.event, bytes.length).then(
      () => 200,
      () => 503,
    )
  }
}
