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
