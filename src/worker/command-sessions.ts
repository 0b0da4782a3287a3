import type { Session, SessionListener } from '../bus/port.ts'
import { lostLetters } from '../records/dead-letter.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { DoubtIntake, type DoubtIntakeOptions } from './doubts/doubt-intake.ts'
import type { Orphans } from './doubts/orphans.ts'
import { CommandIntake, type CommandIntakeOptions } from './intake/command-intake.ts'
import type { Later } from './later/later.ts'
import type { Dispatcher } from './sending/dispatcher.ts'

export interface CommandSessionsOptions {
  doubtsTopic: string
  commandIntake: CommandIntakeOptions
  doubtIntake: DoubtIntakeOptions
  /** Null if the results are not read. */
  orphans: Orphans
  dispatcher: Dispatcher
  later: Later
  telemetry: Telemetry
}

/** Connects the sessions of commands and doubts to their intakes and to the dispatcher. */
export function commandSessions(options: CommandSessionsOptions): Omit<SessionListener, 'shareChanged' | 'fatal'> {
  const { doubtsTopic, dispatcher, later, telemetry } = options
  const { deadLetterTopic } = options.commandIntake
  const commands = new Map<Session, CommandIntake>()
  const doubts = new Map<Session, DoubtIntake>()
  const count = ({ topic }: Session, records: readonly unknown[]) => {
    if (topic !== doubtsTopic) telemetry.emit('commands.consumed', { topic, count: records.length })
  }

  return {
    opening: async session => {
      if (session.topic !== doubtsTopic) await later.opening(session)
    },
    opened(session) {
      if (session.topic === doubtsTopic) {
        doubts.set(session, new DoubtIntake(session, options.doubtIntake))
        if (session.forgotten) options.orphans.ask(session)
      } else {
        const waiting = later.of(session)
        commands.set(session, new CommandIntake(session, waiting, options.commandIntake))
        waiting.begin()
      }
      dispatcher.add(session)
    },
    history: (session, records) => commands.get(session)?.take(records, 'past'),
    inFlight: (session, records) => commands.get(session)?.take(records, 'in flight'),
    records(session, records) {
      count(session, records)
      commands.get(session)?.take(records, 'new')
      doubts.get(session)?.take(records, false)
    },
    recalled(session, records) {
      commands.get(session)?.take(records, 'recalled')
      dispatcher.pump()
    },
    lost(session, ranges) {
      const what = session.topic === doubtsTopic ? 'doubts' : 'commands'
      if (what === 'doubts') options.orphans.ask(session)
      const letters = lostLetters(deadLetterTopic, session, ranges, what, telemetry)
      return what === 'doubts' ? letters : [...letters, ...later.of(session).lost(ranges)]
    },
    cut: (session, before) => dispatcher.forgetBefore(session, before),
    inDoubt(session, records, since) {
      count(session, records)
      commands.get(session)?.take(records, 'doubted', since)
      doubts.get(session)?.take(records, true)
    },
    held: session => dispatcher.hold(session),
    resumed(session) {
      later.resumed(session)
      dispatcher.resume(session)
    },
    closed(session) {
      commands.delete(session)
      doubts.delete(session)
      later.closed(session)
      options.doubtIntake.resolver.forget(session)
      dispatcher.remove(session)
    },
  }
}
