import { isOperationType, operations as protocol, stringifyJson } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import type { ExecutedMessage, Id } from './accounts.ts'
import { isRefusedItem } from './answers.ts'
import { chance, pickWithin } from './chance.ts'
import type { Ending } from './endings.ts'
import type { Exchange, GivenOperation } from './gateway.ts'
import type { Reading } from './open-points.ts'

const callbackTypes = ['sms', 'viber', 'voice', 'rcs']

/**
 * The body of a status callback (specification, Events). Only `success` is required, so `type` is left out for channels that
 * the specification does not list as types of callbacks (telegram, whatsapp).
 */
export function statusCallback(
  operation: GivenOperation,
  message: ExecutedMessage,
  ending: Ending,
  exchange: Exchange,
): string {
  const { id } = operation
  const { requestId, gateway } = exchange
  const { open } = gateway.settings
  const { channel } = message
  const spoken = channel === 'voice' && ending.success
  return stringifyJson({
    success: ending.success,
    ...(id !== undefined && { id: callbackIds[open.callbackIds](id) }),
    msg_id: String(message.msgId),
    ...(callbackTypes.includes(channel) && { type: channel }),
    status: ending.status,
    ...(ending.error !== undefined && { error: ending.error }),
    updated: timeForms[open.callbackTimes](new Date(message.finalAt).toISOString()),
    ...(spoken && { duration: 1 + Math.floor(chance('duration', id) * 60) }),
    ...(spoken && asksForDigit(operation) && { reply: String(Math.floor(chance('reply', id) * 10)) }),
    ...(requestId !== undefined && { request_id: requestId }),
    ...(message.status === 'REPLIED' && { replies: repliesTo(message) }),
  })
}

const callbackIds: Record<Reading<'callbackIds'>, (id: Id) => unknown> = {
  text: String,
  number: id => id,
  padded: id => `00${id}`,
  rounded: id => BigInt(Number(id)),
}

/** Forms of a time, given as `2026-05-01T10:00:00.500Z`. */
const timeForms: Record<Reading<'callbackTimes'>, (iso: string) => string> = {
  extended: iso => iso,
  basic: iso => iso.replace(/\.\d+/, '').replaceAll(/[-:]/g, ''),
  comma: iso => iso.replace('.', ',').replace('Z', '+00:00'),
  short: iso => iso.replace(/\.\d+Z/, '+00'),
}

/** Whether a call asks its recipient for a digit; in a pipeline, its voice stage says so. */
function asksForDigit({ type, dtmf, voice }: GivenOperation): boolean {
  return (type === 'pipeline' ? isObject(voice) && voice.dtmf : dtmf) === true
}

/** Replies of a two-way Viber message's recipient (public facts): a text, then a picture. */
export function repliesTo({ finalAt, msgId }: ExecutedMessage): object[] {
  const at = (seconds: number) => new Date(finalAt + seconds * 1000).toISOString()
  const picture = { url: `https://media.example/${msgId}.jpg`, filename: `${msgId}.jpg`, filesize: 20_480 }
  return [
    { datetime: at(-2), message: 'Yes' },
    { datetime: at(-1), media: picture },
  ]
}

/** The body of a callback for a refusal. Without a message, there is no msg_id. */
export function refusalCallback({ id, type }: GivenOperation, error: string, { gateway, requestId }: Exchange): string {
  return JSON.stringify({
    success: false,
    ...(id !== undefined && { id: String(id) }),
    ...(callbackTypes.includes(type) && { type }),
    status: 'REJECTED',
    error,
    updated: new Date(gateway.now()).toISOString(),
    ...(requestId !== undefined && { request_id: requestId }),
  })
}

/**
 * Reports refusals by callback, for the asynchronous interface. They go to the operation's own `hook`, even for a pipeline,
 * whose other statuses do not (specification, States and transitions).
 */
export function callBackRefusals(operations: unknown[], items: string[], exchange: Exchange): void {
  const { callbacks, settings } = exchange.gateway
  for (const [i, item] of items.entries()) {
    const operation = operations[i] as GivenOperation | null
    const url = isRefusedItem(item) ? hookOf(operation, settings.open.voiceHook === 'kept') : undefined
    if (!operation || url === undefined) continue
    const { error } = JSON.parse(item) as { error: string }
    const delay = pickWithin(settings.callbackDelayMs, chance('delay', operation.id))
    callbacks.schedule(url, () => refusalCallback(operation, error, exchange), delay)
  }
}

function hookOf(operation: GivenOperation | null, voiceHook: boolean): string | undefined {
  const { type, hook } = operation ?? {}
  if (!isOperationType(type) || typeof hook !== 'string') return undefined
  const kept = protocol[type].hook
  return kept === 'none' || (kept === 'not shown' && !voiceHook) ? undefined : hook
}
