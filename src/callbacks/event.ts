import { echoedId, idIn, isRounded } from '../protocol/ids.ts'
import { callbackStateOf } from '../protocol/states.ts'
import type { DeadLetterReason } from '../records/dead-letter.ts'
import { readStatus } from '../records/reported-status.ts'
import { type CommandFacts, type NewStatusEvent, unknownCommandFacts } from '../records/status.ts'
import type { Callback } from './body.ts'
import type { CallbackOrigin } from './hook-url.ts'

export type EventReading =
  | { ok: true; event: NewStatusEvent }
  /** The body names another message than the address. */
  | { ok: false; reason: 'other_id' }
  /** The body came to an account's address, and its id cannot be a command's. */
  | { ok: false; reason: 'no_id'; error: DeadLetterReason }

interface Receipt {
  /** Milliseconds since 1970. */
  receivedAt: number
  /** The API key of an account; empty if this process does not know it. */
  keyOf: (account: string) => string
}

/** The status event of a callback. */
export function statusEvent(origin: CallbackOrigin, body: Callback, receipt: Receipt): EventReading {
  if (origin.kind === 'message') {
    const { subject } = origin
    if (namesAnother(body.id, subject.id)) return { ok: false, reason: 'other_id' }
    const { id, account, type, correlationId, tenant, campaign, country } = subject
    const facts = { correlationId, tenant, campaign, commandType: type, country }
    return { ok: true, event: eventOf(body, { id, account, type, facts }, true, receipt) }
  }
  const id = idIn(echoedId(body.id) ?? '')
  if (id === null) {
    const message = `a callback to the address of account ${origin.account} has no id of 1 to 2^63-1: not sent by busgate`
    return { ok: false, reason: 'no_id', error: { code: 'NO_NUMERIC_ID', message } }
  }
  const command = { id, account: origin.account, type: 'unknown', facts: unknownCommandFacts }
  return { ok: true, event: eventOf(body, command, false, receipt) }
}

type HookedCommand = Pick<NewStatusEvent, 'id' | 'account' | 'type'> & { facts: CommandFacts }

function eventOf(
  body: Callback,
  command: HookedCommand,
  verified: boolean,
  { receivedAt, keyOf }: Receipt,
): NewStatusEvent {
  const { id, account, facts } = command
  const told = readStatus(body, keyOf(account))
  const type = told.type ?? command.type
  const { state } = callbackStateOf(told.status, body.success === true)
  const known = { state, final: true, source: 'CALLBACK', verified, receivedAt } as const
  return { id, account, ...facts, ...told, type, ...known }
}

/** The address identifies the message, so a missing id is no contradiction. */
const namesAnother = (echoed: unknown, id: bigint): boolean =>
  (echoedId(echoed) ?? String(id)) !== String(id) && !isRounded(echoed, String(id))
