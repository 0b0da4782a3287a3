import { once } from 'node:events'

/** Writes a line to standard output; waits for whoever reads there. */
export async function printLine(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain')
}

/*
 * What others wrote (the gateway, a producer, a broker, a registry) is shown on a terminal and never obeyed by it. Control
 * characters are escaped, U+009B among them, which begins a sequence as ESC [ does, and so are those that end a line or
 * turn the direction of what follows.
 */

const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

const escaped = (character: string): string =>
  character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Text in one line. JSON says the same afterwards, since such characters can only stand inside its strings. */
export const printable = (text: string): string => text.replaceAll(unprintable, escaped)

/** Text that may have several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/**
 * Makes a decoder of standard input that takes it piece by piece and leaves out a byte order mark.
 * @throws Error where it is not UTF-8: what stands in for the lost letters would be sent and billed.
 */
export function strictUtf8(): (piece: Buffer, options?: { stream: boolean }) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (piece, options) => {
    try {
      return decoder.decode(piece, options)
    } catch {
      throw new Error('standard input is not UTF-8: save it as UTF-8')
    }
  }
}

export type Signal = 'SIGINT' | 'SIGTERM'

/** npm passes on what its terminal has sent to the whole group already: the same Ctrl-C arrives twice. */
const sameSignalMs = 500

/** Resolves with the first SIGINT or SIGTERM; a second one ends the process at once with 130. Called once a process. */
export function untilSignal(): Promise<Signal> {
  const { promise, resolve } = Promise.withResolvers<Signal>()
  let first: number | null = null
  const heard = (signal: Signal) => {
    if (first !== null && performance.now() - first > sameSignalMs) process.exit(130)
    first ??= performance.now()
    resolve(signal)
  }
  process.on('SIGINT', heard)
  process.on('SIGTERM', heard)
  return promise
}

/** Waits no longer than `ms`. @throws Error when `what` took longer */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
