/** ErrorSummary is what of an error may be logged. */
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

/** ErrorPlace is what of an error may be logged whose message may hold what a stranger sent. */
export interface ErrorPlace {
  name: string
  code?: string
  /** The innermost frames of its stack. */
  at: string[]
}

export function placeOf(error: Error): ErrorPlace {
  const code = codeOf(error)
  return { name: error.name, ...(code === undefined ? {} : { code }), at: framesOf(error).slice(0, 3) }
}

/** Tells where an error was thrown: the stack without the message in front of it. */
export function framesOf(error: Error): string[] {
  const lines = error.stack?.split('\n') ?? []
  return lines.filter(line => /^ {4}at /.test(line)).map(line => line.trim())
}

/** The first code on the way down to the error's cause. */
export function codeOf(error: Error): string | undefined {
  const { code, type } = error as { code?: unknown; type?: unknown }
  if (typeof code === 'string') return code
  if (typeof type === 'string') return type
  return error.cause instanceof Error ? codeOf(error.cause) : undefined
}

/**
 * A text at most 500 characters long, without the long runs of digits in which a phone number could hide, and without
 * what JSON.parse quotes of the text it was given.
 */
export function safeText(text: string): string {
  const safe = text
    .replace(/Unexpected token .*?(?: is not valid JSON|$)/gs, 'not valid JSON')
    .replace(/\d{9,}/g, '***')
  return safe.length > longestText ? `${safe.slice(0, longestText)}…` : safe
}

/** JSON.parse quotes the text it was given. */
function messageOf(error: Error): string {
  return error instanceof SyntaxError ? 'not valid JSON' : safeText(error.message)
}
