import { type DestinationStream, type LevelWithSilent, type Logger, pino, stdTimeFunctions } from 'pino'

/**
 * Creates a logger that writes one JSON object per line: `level` as text, `time` as ISO 8601. @param destination default:
 * standard output
 */
export function createLogger(level: LevelWithSilent, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return destination ? pino(options, destination) : pino(options)
}
