import type { Hop } from '../../src/bus/memory/bus.ts'
import type { Given } from '../../src/bus/session/assignment.ts'
import type { Connection } from '../../src/gateway/connection.ts'
import type { SchemaRegistry } from '../../src/records/registry.ts'
import { distantRegistry } from './codec.ts'
import type { SimGateway } from './gateway.ts'
import type { Judge } from './judge/judge.ts'
import { connectLine } from './line.ts'
import type { Delay, Plan, PostFault } from './plan.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

type Settled = PromiseSettledResult<unknown>

export interface PortsOptions {
  plan: Plan
  random: Random
  scheduler: Scheduler
  judge: Judge
  gateway: SimGateway
  trace: Trace
}

/** What the group's coordinator is asked for, but for the questions before the start, which is simply made again. */
const coordinated = /^(join|sync|heartbeat|leave|acquire|commit)/

/** When nothing goes wrong any more. */
const calmDelay: Delay = { usual: 2, rare: 0, most: 0 }

/** A process's ways to bus, registry and gateway: how long each takes, and what is lost on it. */
export class Ports {
  calm = false
  /** Virtual milliseconds: until then no connection to the gateway comes about. */
  unreachableUntil = 0
  /** Virtual milliseconds: until then no broker coordinates the group. */
  movedUntil = 0
  /** Steps at the broker of which the caller heard an error. */
  lost = 0
  readonly #options: PortsOptions

  constructor(options: PortsOptions) {
    this.#options = options
  }

  hop(owner: Owner): Hop {
    const { scheduler, trace } = this.#options
    return (step, way, outcome) => {
      if (owner.dead) return new Promise(() => {})
      const there = way === 'there'
      if (there) this.#sent(owner, step)
      else this.#answered(owner, step, outcome)
      const lost = this.#isLost(step)
      if (lost) this.lost++
      return new Promise((resolve, reject) => {
        const kind = there && !lost ? 'request' : 'answer'
        scheduler.add(kind, owner, `${step} ${way}`, this.#delay(this.#wayOf(step)), () => {
          if (lost) {
            trace(
              owner.name,
              `${step} fails: ${there ? 'it never came to the broker' : 'it happened, the answer was lost'}`,
            )
            reject(new Error(`${step}: no answer`))
            return
          }
          if (there && scheduler.now < this.movedUntil && coordinated.test(step)) {
            reject(new Error(`${step}: not the coordinator`))
            return
          }
          if (!there) this.#heard(owner, step, outcome)
          resolve()
        })
      })
    }
  }

  registry(owner: Owner): SchemaRegistry {
    const { scheduler, random, plan } = this.#options
    return distantRegistry(
      () =>
        new Promise(resolve => {
          const passes = this.calm || !random.chance(plan.faults.registryRate)
          scheduler.add('http', owner, 'registry', this.httpDelay(), () => resolve(passes))
        }),
    )
  }

  connection(owner: Owner): Connection {
    const { plan, judge } = this.#options
    return connectLine({
      ...this.#options,
      owner,
      timeoutMs: plan.timeoutMs,
      settleMs: plan.settleMs,
      delay: () => this.httpDelay(),
      fault: () => this.#postFault(),
      asked: envelope => judge.posts.asked(envelope),
      began: envelope => judge.posts.began(owner, envelope),
      underway: envelope => judge.posts.underway(envelope),
    })
  }

  httpDelay(): number {
    return this.#delay(this.#options.plan.http)
  }

  #postFault(): PostFault | null {
    const { random, plan, scheduler } = this.#options
    const { postRate, posts } = plan.faults
    if (scheduler.now < this.unreachableUntil) return 'unreachable'
    return !this.calm && random.chance(postRate) ? random.pick(posts) : null
  }

  #wayOf(step: string): Delay {
    const { bus, commits = bus } = this.#options.plan
    return step.startsWith('commit') ? commits : bus
  }

  #delay({ usual, rare, most }: Delay): number {
    const { random } = this.#options
    if (this.calm) return random.int(0, calmDelay.usual)
    return random.int(0, random.chance(rare) ? most : usual)
  }

  #isLost(step: string): boolean {
    const { random, plan } = this.#options
    if (this.calm) return false
    if (/^(join|sync)/.test(step)) return plan.faults.groupLostRate > 0 && random.chance(plan.faults.groupLostRate)
    return /^(commit|acquire|publish)/.test(step) && random.chance(plan.faults.lostRate)
  }

  #sent(owner: Owner, step: string): void {
    if (step === 'heartbeat' || step === 'sync') this.#options.judge.posts.heartbeatSent(owner)
    if (step === 'join') this.#options.judge.posts.joining(owner)
  }

  #answered(owner: Owner, step: string, outcome: Settled | undefined): void {
    if (step !== 'sync' || outcome?.status !== 'fulfilled') return
    const { judge, trace } = this.#options
    const { partitions } = outcome.value as Given
    judge.progress.assigned(owner, partitions)
    trace('broker', `${owner.name} gets ${partitions.map(tp => `${tp.topic}/${tp.partition}`).join(', ') || 'nothing'}`)
  }

  #heard(owner: Owner, step: string, outcome: Settled | undefined): void {
    const isSignOfLife = step === 'heartbeat' || step === 'sync'
    if (isSignOfLife && outcome?.status === 'fulfilled') this.#options.judge.posts.heartbeatAnswered(owner)
  }
}
