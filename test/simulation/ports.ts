import type { Given } from '../../src/bus/membership/assignment.ts'
import type { Hop } from '../../src/bus/memory/bus.ts'
import type { Connection } from '../../src/gateway/connection.ts'
import type { SchemaRegistry } from '../../src/records/registry.ts'
import { remoteRegistry } from './codec.ts'
import type { SimGateway } from './gateway.ts'
import { connectToGateway } from './gateway-connection.ts'
import type { Judge } from './judge/judge.ts'
import type { Delay, Plan, PostFault } from './plan.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'
import { keys } from './settings.ts'
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

/** Requests to the group's coordinator, except those before the start, which is retried as a whole. */
const coordinated = /^(join|sync|heartbeat|leave|acquire|commit)/

/** The delay after the faults. */
const calmDelay: Delay = { usual: 2, rare: 0, most: 0 }

/** The connections of processes to bus, registry and gateway, with their delays and losses. */
export class Ports {
  calm = false
  /** The gateway is unreachable until then, in virtual milliseconds. */
  unreachableUntil = 0
  /** The group has no coordinator until then, in virtual milliseconds. */
  movedUntil = 0
  /** The number of requests to the broker that failed for their caller. */
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
        scheduler.add(kind, owner, `${step} ${way}`, this.#delay(this.#busDelayOf(step)), () => {
          if (lost) {
            trace(owner.name, `${step} fails: ${there ? 'it did not reach the broker' : 'its answer was lost'}`)
            reject(new Error(`${step}: no answer`))
            return
          }
          if (there && scheduler.now < this.movedUntil && coordinated.test(step)) {
            reject(new Error(`${step}: not the coordinator`))
            return
          }
          if (!there) this.#received(owner, step, outcome)
          resolve()
        })
      })
    }
  }

  registry(owner: Owner): SchemaRegistry {
    const { scheduler, random, plan } = this.#options
    return remoteRegistry(
      () =>
        new Promise(resolve => {
          const passes = this.calm || !random.chance(plan.faults.registryRate)
          scheduler.add('http', owner, 'registry', this.httpDelay(), () => resolve(passes))
        }),
    )
  }

  connection(owner: Owner): Connection {
    const { plan, judge } = this.#options
    return connectToGateway({
      ...this.#options,
      owner,
      timeoutMs: plan.timeoutMs,
      settleMs: plan.settleMs,
      delay: auth => this.#gatewayDelay(auth),
      fault: () => this.#postFault(),
      connectionRequested: envelope => judge.posts.connectionRequested(envelope),
      began: envelope => judge.posts.began(owner, envelope),
      inFlight: envelope => judge.posts.inFlight(envelope),
    })
  }

  httpDelay(): number {
    return this.#delay(this.#options.plan.http)
  }

  /** A request has three delays: of its connection, its way and its answer. */
  #gatewayDelay(auth: string): number {
    const { plan, random } = this.#options
    const isSlow = !this.calm && plan.slowAccount !== null && keys.get(auth) === plan.slowAccount
    return isSlow ? random.int(plan.timeoutMs * 0.2, plan.timeoutMs * 0.3) : this.httpDelay()
  }

  #postFault(): PostFault | null {
    const { random, plan, scheduler } = this.#options
    const { postRate, posts } = plan.faults
    if (scheduler.now < this.unreachableUntil) return 'unreachable'
    return !this.calm && random.chance(postRate) ? random.pick(posts) : null
  }

  #busDelayOf(step: string): Delay {
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

  #received(owner: Owner, step: string, outcome: Settled | undefined): void {
    const renewsLease = step === 'heartbeat' || step === 'sync'
    if (renewsLease && outcome?.status === 'fulfilled') this.#options.judge.posts.heartbeatAnswered(owner)
  }
}
