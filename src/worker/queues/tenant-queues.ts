import type { Backlog, Session } from '../../bus/port.ts'
import type { Pending } from '../pending.ts'
import { type EnvelopeBounds, PartitionQueues } from './partition-queues.ts'

interface Tenant {
  readonly queues: PartitionQueues
  readonly weight: number
  /** Operations left in its turn. */
  credit: number
}

/** Most tenants with their own turns. The others share one, with commands without a tenant. */
const mostTenants = 256
const nobody = ''

/**
 * Commands of one account by tenant, in deficit round robin: each tenant gets a part of an envelope by its weight, and unused
 * parts go to the others. A tenant's commands thus reach the next envelope however long other queues are, as long as an
 * envelope has an operation for each tenant.
 */
export class TenantQueues {
  readonly #weights: ReadonlyMap<string, number>
  readonly #tenants = new Map<string, Tenant>()
  /** Tenants with commands that may be taken, the next one first. */
  readonly #turns = new Set<Tenant>()

  /** @param weights by tenant; others have 1 */
  constructor(weights: ReadonlyMap<string, number>) {
    this.#weights = weights
  }

  /** Number of commands that may be taken. */
  get length(): number {
    let sum = 0
    for (const { queues } of this.#turns) sum += queues.length
    return sum
  }

  /** Number of commands, including those of partitions that are not open. */
  get waiting(): number {
    let sum = 0
    for (const { queues } of this.#tenants.values()) sum += queues.waiting
    return sum
  }

  /** Start of the longest linger time among the next commands, monotonic milliseconds; Infinity if there are none. */
  get lingersSince(): number {
    let least = Number.POSITIVE_INFINITY
    for (const { queues } of this.#turns) {
      for (const { lingersSince } of queues.nexts) least = Math.min(least, lingersSince)
    }
    return least
  }

  /** The oldest command of each tenant and partition. */
  get firsts(): Pending[] {
    return [...this.#tenants.values()].flatMap(({ queues }) => queues.firsts)
  }

  /** Commands of one partition: number and bytes. */
  on(session: Session): Backlog {
    const sum = { records: 0, bytes: 0 }
    for (const { queues } of this.#tenants.values()) {
      const queue = queues.on(session)
      sum.records += queue?.length ?? 0
      sum.bytes += queue?.bytes ?? 0
    }
    return sum
  }

  push(pending: Pending): void {
    const tenant = this.#of(pending)
    tenant.queues.push(pending)
    this.#enter(tenant)
  }

  /** Requeues commands at the front; their tenants are next. */
  putBack(pendings: readonly Pending[]): void {
    const turns = [...this.#turns]
    const returned = Map.groupBy(pendings, pending => this.#of(pending))
    this.#turns.clear()
    for (const [tenant, own] of returned) {
      tenant.queues.putBack(own)
      this.#turns.add(tenant)
    }
    for (const tenant of turns) this.#turns.add(tenant)
  }

  /**
   * Takes commands for an envelope.
   * @param accept may drop a command instead
   */
  take({ operations, bytes }: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
    const taken: Pending[] = []
    let weights = 0
    for (const { weight } of this.#turns) weights += weight
    const unit = Math.max(1, Math.floor(operations / weights))
    let room = bytes + 1 // the first one has no comma before it
    while (taken.length < operations) {
      const [tenant] = this.#turns
      if (!tenant) break
      if (tenant.credit <= 0) tenant.credit = unit * tenant.weight
      const before = taken.length
      const most = this.#turns.size === 1 ? operations : Math.min(operations, before + tenant.credit)
      room = tenant.queues.fill(taken, most, room, accept)
      tenant.credit -= taken.length - before
      if (tenant.queues.isEmpty) this.#leave(tenant)
      else if (taken.length < most) {
        if (taken.length > before) this.#goBehind(tenant) // its next command does not fit, so the envelope was its turn
        break
      } else if (tenant.credit <= 0) this.#goBehind(tenant)
    }
    if (this.#tenants.size >= mostTenants) this.#forgetIdle()
    return taken
  }

  /** Removes a partition's youngest commands. Each of its tenants keeps an equal part; unused parts go to the others. */
  cut(session: Session, kept: Backlog): Pending[] {
    const sharers = [...this.#tenants.values()].flatMap(tenant => {
      const queue = tenant.queues.on(session)
      return queue?.first ? { tenant, queue } : []
    })
    sharers.sort((a, b) => a.queue.length - b.queue.length)
    let { records, bytes } = kept
    return sharers.flatMap(({ tenant, queue }, i) => {
      const sharing = sharers.length - i
      const cut = tenant.queues.cut(session, { records: Math.floor(records / sharing), bytes: bytes / sharing })
      records -= queue.length
      bytes -= queue.bytes
      if (tenant.queues.isEmpty) this.#leave(tenant)
      return cut
    })
  }

  /** Removes all commands that match. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    return [...this.#tenants.values()].flatMap(tenant => {
      const out = tenant.queues.takeOut(goes)
      if (tenant.queues.isEmpty) this.#leave(tenant)
      return out
    })
  }

  /** Resumes a partition. */
  resume(session: Session): void {
    for (const tenant of this.#tenants.values()) {
      tenant.queues.resume(session)
      this.#enter(tenant)
    }
  }

  /** Drops the commands of a partition. */
  remove(session: Session): void {
    for (const tenant of this.#tenants.values()) {
      tenant.queues.remove(session)
      if (tenant.queues.isEmpty) this.#leave(tenant)
    }
  }

  #enter(tenant: Tenant): void {
    if (!tenant.queues.isEmpty) this.#turns.add(tenant)
  }

  #goBehind(tenant: Tenant): void {
    tenant.credit = 0
    this.#turns.delete(tenant)
    this.#turns.add(tenant)
  }

  #leave(tenant: Tenant): void {
    if (this.#turns.delete(tenant)) tenant.credit = 0
  }

  #of({ command: { tenant: name } }: Pending): Tenant {
    const own = name ?? nobody
    return this.#tenants.get(own) ?? this.#create(own)
  }

  /** Creates a tenant's queues, or uses the shared ones if there are too many tenants. */
  #create(name: string): Tenant {
    const key = this.#tenants.size < mostTenants ? name : nobody
    const tenant = this.#tenants.get(key) ?? {
      queues: new PartitionQueues(),
      weight: this.#weights.get(key) ?? 1,
      credit: 0,
    }
    this.#tenants.set(key, tenant)
    return tenant
  }

  /** Removes idle tenants. Must not run during `putBack`, which leaves tenants idle for a moment. */
  #forgetIdle(): void {
    if (this.#tenants.size === this.#turns.size) return
    for (const [name, tenant] of this.#tenants) if (tenant.queues.waiting === 0) this.#tenants.delete(name)
  }
}
