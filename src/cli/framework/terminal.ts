import { once } from 'node:events'
import { bigintAsText } from '../../protocol/json.ts'

/** Writes a line to standard output; waits for a slow reader. */
export async function printLine(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain')
}

/**
 * Text from outside (gateway, producers, brokers, registry) must not control the terminal. Control characters are escaped,
 * U+009B included, which begins a sequence as ESC [ does, and so are characters that end a line or change the text direction.
 */

const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

const escaped = (character: string): string =>
  character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Escapes text for one line. JSON keeps its meaning, since such characters only occur in its strings. */
export const printable = (text: string): string => text.replaceAll(unprintable, escaped)

/** Escapes text that may have several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/** Writes a sentence to standard error. */
export const say = (sentence: string) => process.stderr.write(`${printable(sentence)}\n`)

const idNames: ReadonlySet<string> = new Set(['id', 'msg_id'])

/** An id from outside may be any number: its type in JSON must not depend on its size. */
const idAsText = (name: string, value: unknown): unknown =>
  typeof value === 'number' && idNames.has(name) ? String(value) : bigintAsText(name, value)

/** JSON, on one line unless indented. An id is text. */
export const jsonText = (value: unknown, indent = 0): string => printableLines(JSON.stringify(value, idAsText, indent))

/**
 * Makes a streaming decoder of standard input that removes a byte order mark.
 * @throws Error on invalid UTF-8, because replacement characters would be sent and billed
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

/** npm forwards a signal that the terminal sends to the whole process group anyway, so that one Ctrl-C arrives twice. */
const sameSignalMs = 500

/** Resolves with the first SIGINT or SIGTERM; a second one exits at once with 130. Call it once per process. */
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

/** Waits at most `ms`. @throws Error when `what` takes longer */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
