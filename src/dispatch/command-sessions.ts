import type { BusRecord, Session, SessionListener } from '../bus/port.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { Dispatcher } from './dispatcher.ts'
import { Intake, type IntakeOptions } from './intake.ts'

export interface CommandSessionsOptions {
  intake: IntakeOptions
  dispatcher: Dispatcher
  telemetry: Telemetry
  /** Partitions came or went. */
  changed: () => void
  fatal: (error: Error) => void
}

/** Connects the sessions of command partitions to their intake and to the dispatcher. */
export function commandSessions(options: CommandSessionsOptions): SessionListener {
  const { dispatcher, telemetry, changed, fatal } = options
  const intakes = new Map<Session, Intake>()

  function take(session: Session, records: readonly BusRecord[], inDoubt: boolean): void {
    telemetry.emit('commands.consumed', { topic: session.topic, count: records.length })
    intakes.get(session)?.take(records, inDoubt)
  }

  return {
    opened(session) {
      intakes.set(session, new Intake(session, options.intake))
      dispatcher.add(session)
      changed()
    },
    records: (session, records) => take(session, records, false),
    inDoubt: (session, records) => take(session, records, true),
    resumed() {
      changed()
      dispatcher.pump()
    },
    closed(session) {
      intakes.delete(session)
      dispatcher.remove(session)
      changed()
    },
    fatal,
  }
}
