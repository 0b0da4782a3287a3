import type { CallbackBody } from '../protocol/callback.ts'
import { idIn, sameId } from '../protocol/ids.ts'
import { type State, stateOf } from '../protocol/states.ts'
import type { StatusEvent } from '../records/generated.ts'
import { replyOf } from '../records/reply.ts'
import type { CallbackOrigin } from './origin.ts'

export type Made =
  | { ok: true; event: StatusEvent }
  /** The body speaks of another message than the address. */
  | { ok: false; reason: 'other_id' }
  /** The body came to an account's address and its id cannot be a command's. */
  | { ok: false; reason: 'no_id'; error: { code: string; message: string } }

/** The event that a callback tells of. `receivedAt`: milliseconds since 1970. */
export function statusEvent(origin: CallbackOrigin, body: CallbackBody, receivedAt: number): Made {
  if (origin.kind === 'message') {
    const { subject } = origin
    if (body.id !== undefined && !sameId(body.id, subject.id)) return { ok: false, reason: 'other_id' }
    return { ok: true, event: eventOf(body, subject, true, receivedAt) }
  }
  const id = idIn(String(body.id))
  if (id === null) {
    const message = `a callback to the address of account ${origin.account} has no id of 1 to 2^63-1: not sent by busgate`
    return { ok: false, reason: 'no_id', error: { code: 'NO_NUMERIC_ID', message } }
  }
  const command = { id, account: origin.account, type: 'unknown', correlationId: null, tenant: null }
  return { ok: true, event: eventOf(body, command, false, receivedAt) }
}

type Command = Pick<StatusEvent, 'id' | 'account' | 'type' | 'correlationId' | 'tenant'>

function eventOf(body: CallbackBody, command: Command, verified: boolean, receivedAt: number): StatusEvent {
  return {
    id: command.id,
    msgId: body.msg_id === undefined ? null : String(body.msg_id),
    account: command.account,
    type: body.type ?? command.type,
    status: body.status ?? '',
    ...meaning(body),
    success: body.success,
    error: body.error ?? null,
    source: 'CALLBACK',
    verified,
    updatedAt: instant(body.updated),
    receivedAt,
    reply: body.reply ?? null,
    duration: body.duration ?? null,
    requestId: body.request_id ?? null,
    replies: (body.replies ?? []).map(replyOf),
    correlationId: command.correlationId,
    tenant: command.tenant,
  }
}

/** Callbacks are sent for final states (specification, Events), so `success` decides where the status is left out. */
function meaning({ status, success }: CallbackBody): { state: State; final: boolean } {
  return status === undefined ? { state: success ? 'DELIVERED' : 'FAILED', final: true } : stateOf(status)
}

// Without an offset nobody can tell which instant is meant.
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/

function instant(updated: string | undefined): number | null {
  if (updated === undefined || !INSTANT.test(updated)) return null
  const time = Date.parse(updated.replace(/(\d\d)(\d\d)$/, '$1:$2'))
  return Number.isNaN(time) ? null : time
}
