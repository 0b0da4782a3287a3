import { parseJson, stringifyJson } from '../protocol/index.ts'
import { type HttpReply, type Processed, type RequestEnd, texts } from './answers.ts'

/** A received request, with the way to process and to answer it. */
export interface Incoming {
  /** Processes the request's envelope; with `refusal`, refuses every item with this text. */
  process(refusal?: string): Processed
  /** The interface's regular answer. */
  reply(processed: Processed): HttpReply
}

interface Fault {
  /** A sentence for the table in docs/sandbox.md. */
  meaning: string
  /** Whether the operations are executed (and billed). */
  executes: boolean
  answer(incoming: Incoming): RequestEnd
}

const json = { 'Content-Type': 'application/json' }
const html = { 'Content-Type': 'text/html' }

/** Every fault, with its effect and whether the operations are executed. */
export const faults = {
  'reset-before': {
    meaning: 'the connection is destroyed once the request was read',
    executes: false,
    answer: () => ({ end: 'reset' }),
  },
  'reset-after': {
    meaning: 'the connection is destroyed without an answer',
    executes: true,
    answer: incoming => after(incoming, { end: 'reset' }),
  },
  stall: {
    meaning: 'the answer never comes, the connection stays open',
    executes: true,
    answer: incoming => after(incoming, { end: 'stall' }),
  },
  'slow-body': {
    meaning: 'the body comes in 10 pieces, 100 ms apart',
    executes: true,
    answer: incoming => ({ ...incoming.reply(incoming.process()), dripping: true }),
  },
  'truncated-json': {
    meaning: 'the body ends in the middle',
    executes: true,
    answer: incoming => body(incoming, text => text.slice(0, text.length / 2)),
  },
  'fewer-items': {
    meaning: 'the last item is missing from the answer',
    executes: true,
    answer: incoming => items(incoming, all => all.slice(0, -1)),
  },
  'items-doubled': {
    meaning: 'the answer names each item twice',
    executes: true,
    answer: incoming => items(incoming, all => all.flatMap(item => [item, item])),
  },
  'items-reordered': {
    meaning: 'the items come in reverse order',
    executes: true,
    answer: incoming => items(incoming, all => all.toReversed()),
  },
  'items-without-id': {
    meaning: 'no item echoes its identifier',
    executes: true,
    answer: incoming => items(incoming, all => all.map(item => withId(item, () => undefined))),
  },
  'foreign-ids': {
    meaning: 'the items echo identifiers that nobody sent',
    executes: true,
    answer: incoming => items(incoming, all => all.map(item => withId(item, id => `9${id}`))),
  },
  'foreign-json': {
    meaning: "HTTP 200 with JSON that is not the gateway's",
    executes: false,
    answer: () => page(200, json, '{"status":"ok"}'),
  },
  'http-502': {
    meaning: 'HTTP 502 with an HTML page',
    executes: false,
    answer: () => page(502, html, badGateway),
  },
  'http-502-executed': {
    meaning: 'HTTP 502 with an HTML page',
    executes: true,
    answer: incoming => after(incoming, page(502, html, badGateway)),
  },
  'http-401': {
    meaning: 'HTTP 401',
    executes: false,
    answer: () => page(401, html, '<h1>401 Unauthorized</h1>'),
  },
  'http-413': {
    meaning: 'HTTP 413',
    executes: false,
    answer: () => page(413, html, '<h1>413 Payload Too Large</h1>'),
  },
  'http-429': {
    meaning: 'HTTP 429 with Retry-After: 1',
    executes: false,
    answer: () => page(429, { ...html, 'Retry-After': '1' }, '<h1>429 Too Many Requests</h1>'),
  },
  throttle: {
    meaning: `every item is refused with ${texts.throttle}`,
    executes: false,
    answer: incoming => incoming.reply(incoming.process(texts.throttle)),
  },
  'access-denied': {
    meaning: `the envelope is refused with ${texts.accessDenied}`,
    executes: false,
    answer: incoming => incoming.reply({ error: texts.accessDenied }),
  },
  'envelope-refused': {
    meaning: `the envelope is refused with ${texts.unavailable}`,
    executes: false,
    answer: incoming => incoming.reply({ error: texts.unavailable }),
  },
} satisfies Record<string, Fault>

/** The name of a fault, such as `reset-after`. */
export type FaultName = keyof typeof faults

export function isFaultName(name: unknown): name is FaultName {
  return typeof name === 'string' && Object.hasOwn(faults, name)
}

const badGateway = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>'

function page(status: number, headers: Record<string, string>, body: string): HttpReply {
  return { end: 'reply', status, headers, body }
}

function after(incoming: Incoming, answer: RequestEnd): RequestEnd {
  incoming.process()
  return answer
}

function body(incoming: Incoming, change: (text: string) => string): RequestEnd {
  const answer = incoming.reply(incoming.process())
  return { ...answer, body: change(answer.body) }
}

function items(incoming: Incoming, change: (items: string[]) => string[]): RequestEnd {
  const processed = incoming.process()
  return incoming.reply('items' in processed ? { items: change(processed.items) } : processed)
}

function withId(item: string, change: (id: unknown) => unknown): string {
  const parsed = parseJson(item) as { data: Record<string, unknown> | unknown[] }
  if (!Array.isArray(parsed.data) && 'id' in parsed.data) parsed.data.id = change(parsed.data.id)
  return stringifyJson(parsed)
}

/** The faults of the next requests, in order. */
export interface FaultQueue {
  /** Causes `fault` in the next `count` requests to the gateway's endpoints; with Infinity, in all until `clear`. */
  next(fault: FaultName, count?: number): void
  /** Removes the remaining faults. */
  clear(): void
}

export function createFaultQueue(): FaultQueue & { take(): FaultName | undefined } {
  let queue: { fault: FaultName; left: number }[] = []
  return {
    next(fault, count = 1) {
      if (count > 0) queue.push({ fault, left: count })
    },
    take() {
      const first = queue[0]
      if (first && --first.left === 0) queue.shift()
      return first?.fault
    },
    clear() {
      queue = []
    },
  }
}
