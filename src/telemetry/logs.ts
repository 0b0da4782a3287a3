import { safeText, summaryOf } from './error.ts'
import type { Events, Telemetry } from './events.ts'
import { type LogLine, logLines, rounded } from './log-lines.ts'
import type { Logger } from './logger.ts'

/** Logs one line per event: its name as `event`, its sentence as `msg`, and its fields. */
export function logEvents(telemetry: Telemetry, logger: Logger): void {
  for (const name of Object.keys(logLines) as (keyof Events)[]) {
    if (logLines[name] === null) continue
    telemetry.on(name, (event: Events[keyof Events]) => logEvent(logger, name, event))
  }
}

/** Logs an event without an emitter. */
export function logEvent<K extends keyof Events>(logger: Logger, name: K, event: Events[K]): void {
  const line: LogLine<K> | null = logLines[name]
  if (line === null) return
  const level = typeof line.level === 'function' ? line.level(event) : line.level
  if (logger.isLevelEnabled?.(level) === false) return
  const msg = typeof line.msg === 'function' ? line.msg(event) : line.msg
  logger[level]({ event: name, ...fieldsOf(event) }, msg)
}

/** The event's fields without `level` and `message` of bus.log, which the line already has. */
function fieldsOf(event: object): Record<string, unknown> {
  const fields = Object.entries(event).filter(([key]) => key !== 'level' && key !== 'message')
  return Object.fromEntries(fields.map(([key, value]) => [key, loggable(key, value)]))
}

function loggable(key: string, value: unknown): unknown {
  if (value instanceof Error) return summaryOf(value)
  if (typeof value === 'number') return rounded(key, value)
  return typeof value === 'string' ? safeText(value) : value
}
