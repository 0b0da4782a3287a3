import { type DestinationStream, type Level, type LevelWithSilent, type Logger, pino, stdTimeFunctions } from 'pino'
import { safeText, summaryOf } from './error.ts'
import type { Events, Telemetry } from './events.ts'

/** One JSON object a line: `level` as text, `time` as ISO 8601. @param destination standard output when left out. */
export function createLogger(level: LevelWithSilent, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return destination ? pino(options, destination) : pino(options)
}

type LevelOf<K extends keyof Events> = Level | 'not logged' | ((event: Events[K]) => Level)

/** What is seen many times a second, or at an outsider's will, stays below info: the metrics count it. */
const levels: { [K in keyof Events]: LevelOf<K> } = {
  'role.started': 'info',
  'commands.consumed': 'not logged',
  'results.published': 'debug',
  'envelope.finished': 'debug',
  'gateway.retry': 'debug',
  'rate.waited': 'debug',
  'account.paused': 'warn',
  'account.resumed': 'info',
  'session.opened': 'info',
  'session.lost': 'warn',
  'session.closed': 'info',
  'session.openFailed': 'warn',
  'cycle.committed': 'not logged',
  'commit.confirmed': 'not logged',
  'doubt.opened': 'warn',
  'doubt.resolved': 'debug',
  'status.polled': 'debug',
  'session.unchecked': 'warn',
  'answered.unavailable': 'error',
  'answered.read': 'info',
  'answered.found': 'debug',
  'evidence.unavailable': 'warn',
  'statuses.unreadable': 'warn',
  'result.unreadable': 'warn',
  'deadLetter.published': ({ stage }) => (stage === 'callback' ? 'debug' : 'warn'), // of callbacks, an outsider decides
  'record.shortened': 'debug', // of callbacks, an outsider decides
  'registry.unavailable': 'warn',
  'registry.available': 'info',
  'log.cut': 'error',
  'bus.unavailable': 'warn',
  'bus.log': ({ level }) => level,
  'hook.shortened': 'not logged',
  'callback.accepted': 'debug',
  'callback.refused': 'debug',
  'callbacks.refused': ({ isOurs }) => (isOurs ? 'warn' : 'info'),
  'delivery.latency': 'not logged',
  'callback.missing': 'debug',
  'verdict.found': 'debug',
  'verdicts.forgotten': 'warn',
  'pause.begun': 'warn',
  'pause.ended': 'info',
  'pause.unreadable': 'warn',
  'pauses.unavailable': 'warn',
  'balance.read': 'debug',
}

/** Writes one line an event: its name as `event`, then its fields. */
export function logEvents(telemetry: Telemetry, logger: Logger): void {
  for (const name of Object.keys(levels) as (keyof Events)[]) logEvent(telemetry, logger, name)
}

function logEvent<K extends keyof Events>(telemetry: Telemetry, logger: Logger, name: K): void {
  const level: LevelOf<K> = levels[name]
  if (level === 'not logged') return
  const listener = (event: Events[K]) => {
    const own = typeof level === 'function' ? level(event) : level
    if (logger.isLevelEnabled(own)) logger[own]({ event: name, ...fieldsOf(event) })
  }
  telemetry.on(name as keyof Events, listener as (event: Events[keyof Events]) => void)
}

/** `level` of bus.log is the line's own already. */
function fieldsOf(event: object): Record<string, unknown> {
  const fields = Object.entries(event).filter(([key]) => key !== 'level')
  return Object.fromEntries(fields.map(([key, value]) => [key, loggable(value)]))
}

function loggable(value: unknown): unknown {
  if (value instanceof Error) return summaryOf(value)
  return typeof value === 'string' ? safeText(value) : value
}
