import type { Session } from '../bus/port.ts'
import type { Command } from '../records/command.ts'

/** A valid command on its way: from its partition's session to its result. */
export interface Pending {
  command: Command
  session: Session
  offset: number
  /** Milliseconds since 1970: when its record was appended. */
  timestamp: number
  /** Monotonic milliseconds: when it was ready to be packed. */
  readyAt: number
  /** POSTs made that may have reached the gateway. */
  attempts: number
}

export type ExpiryCode = 'DEADLINE' | 'MAX_AGE'

/** Why a command may not be sent any more, if so. */
export function expiry({ command, timestamp }: Pending, now: number, maxAgeMs: number): ExpiryCode | null {
  if (command.deadline !== null && now > command.deadline) return 'DEADLINE'
  return now > timestamp + maxAgeMs ? 'MAX_AGE' : null
}
