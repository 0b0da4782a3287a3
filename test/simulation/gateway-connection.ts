import type { Answer, Connection, LastCheck } from '../../src/gateway/connection.ts'
import { parseJson, stringifyJson } from '../../src/protocol/index.ts'
import { type Envelope, type Operation, readEnvelope, type SimGateway } from './gateway.ts'
import type { PostFault } from './plan.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'

export interface ConnectionOptions {
  owner: Owner
  scheduler: Scheduler
  random: Random
  gateway: SimGateway
  timeoutMs: number
  settleMs: number
  /** The delay of the next request or answer with this key. */
  delay: (auth: string) => number
  /** The fault of the next POST. */
  fault: () => PostFault | null
  /** Called when the process requests a connection. */
  connectionRequested: (envelope: Envelope) => void
  /** Called at the first byte. */
  began: (envelope: Envelope) => void
  /** Called when the request is sent to the gateway. Returns what is called when the gateway receives it. */
  inFlight: (envelope: Envelope) => () => void
  trace: (actor: string, text: string) => void
}

const refusalStatuses = [301, 308, 400, 401, 403, 404, 405, 407, 411, 413, 414, 415, 421, 429, 431]
const errorStatuses = [500, 502, 503, 504, 408]

/** Connects a process to the simulated gateway: the port that startSending posts to. */
export function connectToGateway(options: ConnectionOptions): Connection {
  return {
    post: (body, lastCheck) => new Promise(resolve => new Post(options, body, lastCheck, resolve)),
    distrust: () => {},
    close: async () => {},
  }
}

/** One POST: it waits for a connection, begins, reaches the gateway, and is answered. Each of these steps can fail. */
class Post {
  readonly #options: ConnectionOptions
  readonly #body: string
  readonly #fault: PostFault | null
  readonly #name: string
  readonly #resolve: (answer: Answer) => void
  /** The delay of the request or its answer. */
  readonly #delay: () => number
  readonly #cancelTimeout: () => void
  #begun = false
  #over = false

  constructor(options: ConnectionOptions, body: string, lastCheck: LastCheck, resolve: (answer: Answer) => void) {
    this.#options = options
    this.#body = body
    this.#fault = options.fault()
    const envelope = readEnvelope(body)
    options.connectionRequested(envelope)
    this.#delay = () => options.delay(envelope.auth)
    this.#name = describe(envelope.data)
    this.#resolve = resolve
    const { timeoutMs, random } = options
    const timeout = `no answer within ${timeoutMs} ms`
    this.#cancelTimeout = this.#answer(timeoutMs, 'timeout', () =>
      this.#begun
        ? { kind: 'lost', cause: 'timeout', message: timeout }
        : { kind: 'not_sent', cause: 'timeout', message: timeout },
    )
    const wait = this.#fault === 'queued' ? random.int(0, timeoutMs * 1.5) : this.#delay()
    options.scheduler.add('http', options.owner, 'connection', wait, () => this.#begin(lastCheck))
  }

  #begin(lastCheck: LastCheck): void {
    const { owner, began, trace } = this.#options
    if (this.#over) return
    if (this.#fault === 'unreachable') {
      this.#finish({ kind: 'not_sent', cause: 'unreachable', message: 'ECONNREFUSED' })
      return
    }
    const reason = lastCheck()
    if (reason !== null) {
      this.#finish({ kind: 'not_sent', cause: 'withheld', message: reason })
      return
    }
    this.#begun = true
    trace(owner.name, `POST ${this.#name} begins${this.#fault ? ` (${this.#fault})` : ''}`)
    began(readEnvelope(this.#body))
    this.#send()
  }

  #send(): void {
    const { random, timeoutMs, settleMs } = this.#options
    switch (this.#fault) {
      case 'lost':
        if (random.chance(0.5)) this.#answer(this.#delay(), 'reset', () => lost('reset'))
        return
      case 'reset':
        this.#answer(this.#delay() * 2, 'reset', () => lost('reset'))
        this.#deliver(this.#delay(), () => null)
        return
      case 'cut':
        this.#deliver(this.#delay(), () => lost('response_cut'))
        return
      case 'slow':
        this.#deliver(random.int(0, timeoutMs + settleMs), body => response(200, body))
        return
      case 'refused by proxy':
        this.#answer(this.#delay(), 'answer', () => response(random.pick(refusalStatuses), 'not here'))
        return
      case 'error of proxy':
        this.#answer(this.#delay(), 'answer', () => response(random.pick(errorStatuses), 'not now'))
        return
      case 'error after execution':
        this.#deliver(this.#delay(), () => response(random.pick(errorStatuses), 'not now'))
        return
      case 'foreign':
        this.#deliver(this.#delay(), body => response(200, foreign(body, random)))
        return
      case 'items differ':
        this.#deliver(this.#delay(), body => response(200, differing(body, random)))
        return
      default:
        this.#deliver(this.#delay(), body => response(200, body))
    }
  }

  /** Delivers the request to the gateway, whatever becomes of the process, which gets `answer`. */
  #deliver(ms: number, answer: (body: string) => Answer | null): void {
    const { scheduler, gateway, trace, inFlight, timeoutMs, settleMs } = this.#options
    const receive = inFlight(readEnvelope(this.#body))
    const refuse = this.#fault === 'throttled' || this.#fault === 'refused' ? this.#fault : null
    scheduler.add('world', null, 'gateway', Math.min(ms, (timeoutMs + settleMs) * 0.9), () => {
      receive()
      const body = gateway.receive(this.#body, refuse)
      trace('gateway', `answers ${this.#name}: ${body}`)
      const received = answer(body)
      if (received) this.#answer(this.#delay(), 'answer', () => received)
    })
  }

  #answer(ms: number, label: string, answer: () => Answer): () => void {
    const { scheduler, owner } = this.#options
    return scheduler.add('http', owner, label, ms, () => this.#finish(answer()))
  }

  #finish(answer: Answer): void {
    if (this.#over) return
    this.#over = true
    this.#cancelTimeout()
    this.#options.trace(this.#options.owner.name, `POST ${this.#name} ends: ${summaryOf(answer)}`)
    this.#resolve(answer)
  }
}

const response = (status: number, body: string): Answer => ({
  kind: 'response',
  request: '{}',
  status,
  body,
  retryAfterMs: null,
})
const lost = (cause: 'reset' | 'response_cut'): Answer => ({ kind: 'lost', cause, message: 'ECONNRESET' })

function foreign(body: string, random: Random): string {
  return random.pick(['', '<html>502</html>', '{"ok":true}', '{"success":"true"}', body.slice(0, body.length / 2)])
}

/** Removes, doubles or swaps items, or changes their ids. Items without ids keep their order: it identifies them. */
function differing(body: string, random: Random): string {
  const envelope = parseJson(body) as { success: boolean; data?: { data?: { id?: number } }[] }
  const items = envelope.data
  if (!items) return body
  const named = items.every(({ data }) => data?.id !== undefined)
  switch (random.pick(['fewer', 'doubled', 'unknown ids', ...(named ? ['swapped'] : [])])) {
    case 'fewer':
      items.splice(random.int(0, items.length - 1), 1)
      break
    case 'doubled':
      items.push(random.pick(items))
      break
    case 'unknown ids':
      for (const item of items) item.data = { ...item.data, id: 900_000 + random.int(0, 9) }
      break
    default:
      items.reverse()
  }
  return stringifyJson(envelope)
}

/** Describes an envelope in a trace: by the ids of its commands or status polls. */
export function describe(operations: readonly Operation[]): string {
  return `[${operations.map(({ type, id, phone }) => (phone ? `${id}` : `${type} ${id ?? ''}`.trim())).join(', ')}]`
}

function summaryOf(answer: Answer): string {
  if (answer.kind === 'response') return `HTTP ${answer.status}`
  return `${answer.kind} ${answer.cause}${answer.kind === 'not_sent' ? ` (${answer.message})` : ''}`
}
