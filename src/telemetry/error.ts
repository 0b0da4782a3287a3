/** The loggable part of an error. */
export interface ErrorSummary {
  name: string
  /** `code` of Node's errors, `type` of Kafka's. */
  code?: string
  message: string
}

const longestText = 500

export function summaryOf(error: Error): ErrorSummary {
  const code = codeOf(error)
  return { name: error.name, ...(code === undefined ? {} : { code }), message: messageOf(error) }
}

/** The loggable part of an error whose message may contain foreign data. */
export interface ErrorPlace {
  name: string
  code?: string
  /** Innermost frames of the stack. */
  at: string[]
}

/** @param frames number of stack frames to keep */
export function placeOf(error: Error, frames = 3): ErrorPlace {
  const code = codeOf(error)
  return { name: error.name, ...(code === undefined ? {} : { code }), at: framesOf(error).slice(0, frames) }
}

/** The stack frames of an error, without its message. */
export function framesOf(error: Error): string[] {
  const lines = error.stack?.split('\n') ?? []
  return lines.filter(line => /^ {4}at /.test(line)).map(line => line.trim())
}

/**
 * For a class's `Symbol.hasInstance`: recognises the error by its code, also one of another copy of this package or of a
 * service's own class. Not for a class with subclasses.
 */
export const byCode = (code: string) => (error: unknown) =>
  (error as { code?: unknown } | null | undefined)?.code === code

/** The first code in the chain of causes. */
export function codeOf(error: Error): string | undefined {
  const { code, type } = error as { code?: unknown; type?: unknown }
  if (typeof code === 'string') return code
  if (typeof type === 'string') return type
  return error.cause instanceof Error ? codeOf(error.cause) : undefined
}

/**
 * Makes a text safe to log: at most 500 characters, without long digit runs, which may be phone numbers, and without text
 * quoted by JSON.parse.
 */
export function safeText(text: string): string {
  const safe = text
    .replace(/Unexpected token .*?(?: is not valid JSON|$)/gs, 'not valid JSON')
    .replace(/\d{9,}/g, '***')
  return safe.length > longestText ? `${safe.slice(0, longestText)}…` : safe
}

/** Hides the message of a SyntaxError, in which JSON.parse quotes its input. */
function messageOf(error: Error): string {
  return error instanceof SyntaxError ? 'not valid JSON' : safeText(error.message)
}
