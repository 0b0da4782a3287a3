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
  /** Deletes the oldest records of a command partition. */
  deleteRecords: () => void
  /** Initialises the transactional producer of a process, which fences the process. */
  fence: () => void
  /** Resets the group's offsets of partitions without requests in flight. */
  reset: () => void
}

const faults = [...processFaults, ...groupFaults, ...partingFaults, ...clockFaults]
const mostProcesses = 3

/** Makes the faults of the plan, right before or right after a step at a port of a process. */
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
      scheduler.add('world', null, 'outage', random.int(0, plan.faults.until), () => this.#disturbGateway())
    }
  }

  /** How often a process was killed or held up in its work, or lost a session. */
  get losses(): number {
    const { crash, freeze, cut, outage, fence, moved, parting, suspend } = this.counts
    const { lost } = this.#options.ports
    const held = freeze + cut + parting + suspend + (outage + moved) * mostProcesses
    return crash + held + fence + lost
  }

  get isOver(): boolean {
    return this.#options.scheduler.now >= this.#options.plan.faults.until
  }

  #before({ kind, owner, label }: Entry): void {
    const { random, plan, fleet } = this.#options
    const { rate, most, kinds } = plan.faults
    const atPort = kind === 'request' || kind === 'answer' || kind === 'http'
    if (!atPort || label.startsWith('heartbeat') || this.isOver || this.#done >= most || !random.chance(rate)) return
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
    if (random.chance(0.1)) plan.faults.most++ // sometimes a long series
  }

  /** The broker notices the closed connection, or the group only misses heartbeats. Requests in flight may arrive. */
  #crash(process: SimProcess): void {
    const { scheduler, random } = this.#options
    if (random.chance(0.3)) void process.bus.crash()
    scheduler.kill(process, ({ kind }) => kind === 'request' && random.chance(0.5))
    if (this.#options.fleet.alive.length === 0 && random.chance(0.5)) this.#options.reset()
    this.#replace()
  }

  #replace(): void {
    const { scheduler, random, fleet } = this.#options
    if (fleet.staying.length > 0 && random.chance(0.4)) return
    scheduler.add('world', null, 'restart', random.int(0, 1500), () => fleet.start())
  }

  #disturbGateway(): void {
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
    trace('gateway', `*** denies ${key} for ${ms} ms`)
    gateway.deniedKeys.add(key)
    scheduler.add('world', null, 'key', ms, () => gateway.deniedKeys.delete(key))
  }

  #duration(): number {
    const { random } = this.#options
    return random.pick([random.int(1, 50), random.int(50, 900), random.int(900, 3500)])
  }
}
