import { onTestFinished, vi } from 'vitest'
import { createLogger } from '../../src/telemetry/logger.ts'

/** Personal data and secrets that must not appear in a log, a metric or an error. Each is easy to search for. */
export const canary = {
  phone: 380671230067,
  text: 'Dear Olena, your code is 0427-zebra',
  code: '0427-otter',
  key: 'key-that-nobody-may-see',
  secret: 'k1:secret-that-nobody-may-see',
  correlation: 'order-of-a-heron',
  tenant: 'tenant-of-a-heron',
  kafkaPassword: 'kafka-password-of-a-lynx',
  registryPassword: 'registry-password-of-a-lynx',
}

/** The values above and parts of them, to find a value that was truncated or split too. */
const marks = [
  ...Object.values(canary).map(String),
  ...['zebra', 'otter', 'heron', 'lynx', 'nobody-may-see', 'sandbox-key', '671230067'],
]

/** Captures the log lines of every level, standard output and standard error until the end of the test. */
export function captureOutput() {
  const written: string[] = []
  const logged: string[] = []
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, 'write').mockImplementation(chunk => {
      written.push(String(chunk))
      return true
    })
    onTestFinished(() => spy.mockRestore())
  }
  return {
    logger: createLogger('trace', { write: line => logged.push(line) }),
    /** Adds output from elsewhere, such as an HTTP response or an error's message. */
    add: (text: string) => written.push(text),
    /** The names of all events logged so far. @throws Error for a line without one */
    events: () => new Set(logged.map(eventOf)),
    all: () => [...logged, ...written].join('\n'),
  }
}

function eventOf(line: string): string {
  const { event } = JSON.parse(line)
  if (typeof event !== 'string') throw new Error(`no event in ${line}`)
  return event
}

/** Finds the marks, and the values in `alsoForbidden`, in a text. Each is returned with the text around it. */
export function leaksIn(text: string, alsoForbidden: readonly string[] = []): string[] {
  return [...marks, ...alsoForbidden].flatMap(mark => {
    const at = text.indexOf(mark)
    return at < 0 ? [] : [`${mark}: …${text.slice(Math.max(0, at - 100), at + mark.length + 20)}…`]
  })
}
