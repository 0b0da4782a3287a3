import type { Fleet } from './fleet.ts'
import type { SimGateway } from './gateway.ts'
import type { Judge } from './judge/judge.ts'
import { clockFaults, groupFaults, type Plan, type ProcessFault, partingFaults, processFaults } from './plan.ts'
import type { Ports } from './ports.ts'
import type { SimProcess } from './process.ts'
import type { Random } from './random.ts'
import type { Entry, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

export interface ChaosOptions {
  plan: Plan
  random: Random
  scheduler: Scheduler
  trace: Trace
  fleet: Fleet
  ports: Ports
  gateway: SimGateway
  judge: Judge
  /** The accounts' keys. */
  keys: readonly string[]
  /** Deletes the oldest records of a partition of commands. */
  deleteRecords: () => void
  /** Somebody initialises the transactional producer of a process. */
  fence: () => void
  /** An operator resets the group's offsets, where nothing is in flight. */
  reset: () => void
}

const faults = [...processFaults, ...groupFaults, ...partingFaults, ...clockFaults]
const mostProcesses = 3

/** Does to processes what the plan allows, right before or right after something happens at one of their ports. */
export class Chaos {
  readonly counts = Object.fromEntries(faults.map(fault => [fault, 0])) as Record<ProcessFault, number>
  readonly #options: ChaosOptions
  #done = 0
  #afterwards: (() => void) | null = null

  constructor(options: ChaosOptions) {
    this.#options = options
    const { scheduler, plan, random } = options
    scheduler.before = entry => this.#before(entry)
    scheduler.after = () => this.#after()
    for (let i = 0; i < plan.faults.outages; i++) {
      scheduler.add('world', null, 'trouble', random.int(0, plan.faults.until), () => this.#troubleGateway())
    }
  }

  /** How often a process was stopped in the middle of its work, kept from it, or lost a session. */
  get losses(): number {
    const { crash, freeze, cut, outage, fence, moved, parting, suspend } = this.counts
    const { lost } = this.#options.ports
    const held = freeze + cut + parting + suspend + (outage + moved) * mostProcesses
    return crash + held + fence + lost
  }

  get over(): boolean {
    return this.#options.scheduler.now >= this.#options.plan.faults.until
  }

  #before({ kind, owner, label }: Entry): void {
    const { random, plan, fleet } = this.#options
    const { rate, most, kinds } = plan.faults
    const atPort = kind === 'request' || kind === 'answer' || kind === 'http'
    if (!atPort || label.startsWith('heartbeat') || this.over || this.#done >= most || !random.chance(rate)) return
    const process = fleet.alive.find(one => one === owner)
    if (!process) return
    this.#done++
    const act = () => this.#do(random.pick(kinds), process, label)
    if (random.chance(0.5)) act()
    else this.#afterwards = act
  }

  #after(): void {
    const act = this.#afterwards
    this.#afterwards = null
    act?.()
  }

  #do(fault: ProcessFault, process: SimProcess, label: string): void {
    const { scheduler, random, trace, fence, fleet, plan, ports, deleteRecords } = this.#options
    if (process.dead) return
    const until = scheduler.now + this.#duration()
    const { alive } = fleet
    if (fault === 'join' && alive.length >= mostProcesses) return
    if ((fault === 'leave' || fault === 'parting') && !process.working) return
    this.counts[fault]++
    const lasting = ['freeze', 'cut', 'outage', 'moved', 'suspend'].includes(fault)
    trace(process.name, `*** ${fault}${lasting ? ` until ${until} ms` : ''} (at ${label})`)
    switch (fault) {
      case 'crash':
        this.#crash(process)
        break
      case 'freeze':
        process.frozenUntil = until
        break
      case 'suspend':
        process.suspend(until)
        break
      case 'step':
        process.stepClock(this.#options)
        break
      case 'cut':
        process.cutUntil = until
        break
      case 'outage':
        for (const one of alive) one.cutUntil = until
        break
      case 'moved':
        ports.movedUntil = until
        break
      case 'deletion':
        deleteRecords()
        break
      case 'fence':
        fence()
        break
      case 'join':
        fleet.start()
        break
      case 'parting':
        process.cutUntil = scheduler.now + plan.sessionTimeoutMs + random.int(100, 1500)
        void fleet.stop(process)
        this.#replace()
        break
      case 'leave':
        void fleet.stop(process)
        this.#replace()
    }
    if (random.chance(0.1)) plan.faults.most++ // a long series now and then
  }

  /** The broker sees the connection go, or the group only misses the heartbeats. Requests on their way may arrive. */
  #crash(process: SimProcess): void {
    const { scheduler, random } = this.#options
    if (random.chance(0.3)) void process.bus.crash()
    scheduler.bury(process, ({ kind }) => kind === 'request' && random.chance(0.5))
    if (this.#options.fleet.alive.length === 0 && random.chance(0.5)) this.#options.reset()
    this.#replace()
  }

  #replace(): void {
    const { scheduler, random, fleet } = this.#options
    if (fleet.staying.length > 0 && random.chance(0.4)) return
    scheduler.add('world', null, 'restart', random.int(0, 1500), () => fleet.start())
  }

  #troubleGateway(): void {
    const { scheduler, random, ports, gateway, keys, trace } = this.#options
    const ms = random.int(50, 2000)
    if (random.chance(0.5)) {
      trace('gateway', `*** cannot be reached for ${ms} ms`)
      ports.unreachableUntil = scheduler.now + ms
      return
    }
    const key = random.pick(keys)
    if (ms % 2 === 0) {
      trace('gateway', `*** refuses everything for ${ms} ms`)
      gateway.isDown = true
      scheduler.add('world', null, 'up again', ms, () => {
        gateway.isDown = false
      })
      return
    }
    trace('gateway', `*** turns ${key} away for ${ms} ms`)
    gateway.deniedKeys.add(key)
    scheduler.add('world', null, 'key', ms, () => gateway.deniedKeys.delete(key))
  }

  #duration(): number {
    const { random } = this.#options
    return random.pick([random.int(1, 50), random.int(50, 900), random.int(900, 3500)])
  }
}
