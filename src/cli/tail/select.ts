import type { BusRecord } from '../../bus/port.ts'
import { sendTypes } from '../../protocol/index.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import { choiceFlag, idFlag, textFlag } from '../framework/command.ts'

const common = {
  id: idFlag('Only those of this id.'),
  account: textFlag('NAME', 'Only those of this account.'),
  tenant: textFlag('NAME', 'Only those of this tenant.'),
}

const outcomes = ['SENT', 'REJECTED', 'INVALID', 'EXPIRED', 'DUPLICATE', 'IN_DOUBT', 'UNRESOLVED', 'UNKNOWN'] as const
const states = ['PENDING', 'DELIVERED', 'FAILED', 'UNKNOWN'] as const

export const resultFilters = {
  outcome: choiceFlag('OUTCOME', outcomes, 'Only those with this outcome.'),
  'error-code': textFlag('CODE', 'Only those with this errorCode, such as INSUFFICIENT_FUNDS.'),
  type: choiceFlag('TYPE', sendTypes, 'Only those of this type of message.'),
  ...common,
}

export const statusFilters = {
  state: choiceFlag('STATE', states, 'Only those with this state.'),
  type: textFlag('TYPE', 'Only those of this channel or type, as the gateway wrote it.'),
  ...common,
}

/** Values of the flags above, by their names. */
export interface RecordFilters {
  id?: bigint
  account?: string
  tenant?: string
  type?: string
  outcome?: string
  'error-code'?: string
  state?: string
}

/** Tells whether the record can be one of them. Every result and status event has its id as its key. */
export function mayMatch({ key }: BusRecord, { id }: RecordFilters): boolean {
  return id === undefined || key?.toString() === String(id)
}

export function matchesRecord(value: SendResult | StatusEvent, filters: RecordFilters): boolean {
  const { outcome, errorCode, state } = value as Partial<SendResult & StatusEvent>
  const own: Record<keyof RecordFilters, unknown> = { ...value, outcome, 'error-code': errorCode, state }
  return Object.entries(filters).every(
    ([name, wanted]) => wanted === undefined || own[name as keyof RecordFilters] === wanted,
  )
}
