import { onTestFinished, vi } from 'vitest'
import { createLogger } from '../../src/telemetry/logs.ts'

/** Nobody may read these in a log, a metric or an error: each is easy to find again. */
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

/** Parts of them too, so that a text which was cut or quoted in pieces is found. */
const marks = [
  ...Object.values(canary).map(String),
  ...['zebra', 'otter', 'heron', 'lynx', 'nobody-may-see', 'sandbox-key', '671230067'],
]

/** Collects all that a process says: its log lines at every level, and its standard output and error. */
export function listen() {
  const said: string[] = []
  const logged: string[] = []
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, 'write').mockImplementation(chunk => {
      said.push(String(chunk))
      return true
    })
    onTestFinished(() => spy.mockRestore())
  }
  return {
    logger: createLogger('trace', { write: line => logged.push(line) }),
    /** Adds what was said elsewhere: an answer over HTTP, an error's message. */
    hear: (text: string) => said.push(text),
    /** Names of the events logged so far. @throws Error for a line without one */
    events: () => new Set(logged.map(eventOf)),
    all: () => [...logged, ...said].join('\n'),
  }
}

function eventOf(line: string): string {
  const { event } = JSON.parse(line)
  if (typeof event !== 'string') throw new Error(`no event in ${line}`)
  return event
}

/** The marks that a text holds, and those given: none, if all is well. Each is shown where it stands. */
export function leaksIn(text: string, alsoForbidden: readonly string[] = []): string[] {
  return [...marks, ...alsoForbidden].flatMap(mark => {
    const at = text.indexOf(mark)
    return at < 0 ? [] : [`${mark}: …${text.slice(Math.max(0, at - 100), at + mark.length + 20)}…`]
  })
}
