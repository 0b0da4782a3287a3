import type { Fleet } from './fleet.ts'
import type { Operation } from './gateway.ts'
import type { Judge } from './judge/judge.ts'
import type { Ports } from './ports.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

export interface PostmanOptions {
  scheduler: Scheduler
  random: Random
  fleet: Fleet
  ports: Ports
  judge: Judge
  trace: Trace
}

const mostTries = 4
const retryMs = 700
const statuses = ['DELIVERED', 'READ', 'UNDELIVERABLE', 'EXPIRED']

/** The gateway's callbacks: early, late, twice, out of order, and again until they are answered 200. */
export class Postman {
  readonly #options: PostmanOptions

  constructor(options: PostmanOptions) {
    this.#options = options
  }

  /** A message was executed: its callbacks follow, some of them before the answer. */
  owes({ id, hook, type, note: reply }: Operation, msgId: number): void {
    const { scheduler, random } = this.#options
    if (!hook) return
    for (let count = random.pick([1, 1, 2, 3]); count > 0; count--) {
      const status = random.pick(statuses)
      const success = status === 'DELIVERED'
      const body = JSON.stringify({ success, id: String(id), msg_id: msgId, type, status, reply })
      scheduler.add('world', null, 'callback', random.int(0, random.pick([5, 1500])), () => this.#try(hook, body, 1))
    }
  }

  #try(hook: string, body: string, tries: number): void {
    const { scheduler, random, fleet, ports, trace, judge } = this.#options
    if (tries > mostTries) return
    let answered = false
    const again = () => {
      if (!answered) this.#try(hook, body, tries + 1)
      answered = true
    }
    scheduler.add('world', null, 'callback again', retryMs, again)
    const receivers = fleet.staying.filter(({ receive }) => receive)
    if (receivers.length === 0) return
    const process = random.pick(receivers)
    const answer = (status: number) => {
      trace(process.name, `answers ${status} to callback ${body}`)
      scheduler.add('world', null, 'callback answer', ports.httpDelay(), () => {
        if (status === 200) judge.outcomes.callbackKept(body)
        if (status === 200) answered = true
      })
    }
    scheduler.add('http', process, 'callback', ports.httpDelay(), () => void process.receive!(hook, body).then(answer))
  }
}
