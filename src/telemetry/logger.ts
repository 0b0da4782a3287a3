import { type DestinationStream, type LevelWithSilent, pino, stdTimeFunctions } from 'pino'

/** Levels of log lines. */
export type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** Where log lines go: pino, or a logger with its methods, such as the `log` of a Fastify server. */
export type Logger = Record<Level, (fields: object, msg: string) => void> & {
  /** Whether lines of this level are written; without it, all are. */
  isLevelEnabled?: (level: Level) => boolean
}

/**
 * Creates a logger that writes one JSON object per line: `level` as text, `time` as ISO 8601. @param destination default:
 * standard output
 */
export function createLogger(level: LevelWithSilent, destination?: DestinationStream): pino.Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return destination ? pino(options, destination) : pino(options)
}
