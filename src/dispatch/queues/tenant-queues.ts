import type { Backlog, Session } from '../../bus/port.ts'
import type { Pending } from '../pending.ts'
import { type EnvelopeBounds, PartitionQueues } from './partition-queues.ts'

interface Tenant {
  readonly queues: PartitionQueues
  readonly weight: number
  /** Operations that are left of its turn. */
  credit: number
}

/** This many tenants have turns of their own at a time; all others share one, with the commands that name none. */
const mostTenants = 256
const nobody = ''

/**
 * Commands of one account by their tenants, who take turns (deficit round robin): of an envelope each may have a part by
 * its weight, and what some leave is the others'. So however much one has, what comes of another one is in the next
 * envelope, as long as an envelope has an operation for each.
 */
export class TenantQueues {
  readonly #weights: ReadonlyMap<string, number>
  readonly #tenants = new Map<string, Tenant>()
  /** TenantQueues that have something to be taken, the next one first. */
  readonly #turns = new Set<Tenant>()
  /** The weight in all of the tenants that have turns. */
  #weight = 0
  /** The tenant whose command came last: mostly there is but one. */
  #last: { name: string; tenant: Tenant } | null = null

  /** @param weights of tenants, where they are not 1 */
  constructor(weights: ReadonlyMap<string, number>) {
    this.#weights = weights
  }

  /** Tells how many may be taken. */
  get length(): number {
    let sum = 0
    for (const { queues } of this.#turns) sum += queues.length
    return sum
  }

  /** Tells how many wait, those of partitions that are not open included. */
  get waiting(): number {
    let sum = 0
    for (const { queues } of this.#tenants.values()) sum += queues.waiting
    return sum
  }

  /** Since when the one lingers that does so for longest, of those that are next, in monotonic milliseconds; Infinity: none. */
  get lingersSince(): number {
    let least = Number.POSITIVE_INFINITY
    for (const { queues } of this.#turns) {
      for (const { lingersSince } of queues.nexts) least = Math.min(least, lingersSince)
    }
    return least
  }

  /** The oldest one of each tenant and partition. */
  get firsts(): Pending[] {
    return [...this.#tenants.values()].flatMap(({ queues }) => queues.firsts)
  }

  /** Tells what waits of one partition. */
  on(session: Session): Backlog {
    const sum = { records: 0, bytes: 0 }
    for (const { queues } of this.#tenants.values()) {
      const queue = queues.on(session)
      sum.records += queue?.length ?? 0
      sum.bytes += queue?.bytes ?? 0
    }
    return sum
  }

  /** One that waits of the partition. */
  firstOn(session: Session): Pending | undefined {
    for (const { queues } of this.#tenants.values()) {
      const first = queues.on(session)?.first
      if (first) return first
    }
    return undefined
  }

  push(pending: Pending): void {
    const tenant = this.#of(pending)
    tenant.queues.push(pending)
    this.#enter(tenant)
  }

  /** Takes commands back; their tenants are the next. */
  putBack(pendings: readonly Pending[]): void {
    const turns = [...this.#turns]
    const returned = Map.groupBy(pendings, pending => this.#of(pending))
    this.#turns.clear()
    for (const [tenant, own] of returned) {
      tenant.queues.putBack(own)
      if (!turns.includes(tenant)) this.#weight += tenant.weight
      this.#turns.add(tenant)
    }
    for (const tenant of turns) this.#turns.add(tenant)
  }

  /**
   * Takes commands for an envelope.
   * @param accept may dispose of a command instead of having it taken
   */
  take({ operations, bytes }: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
    const taken: Pending[] = []
    const unit = Math.max(1, Math.floor(operations / this.#weight))
    let room = bytes + 1 // before the first one there is no comma
    while (taken.length < operations) {
      const [tenant] = this.#turns
      if (!tenant) break
      if (tenant.credit <= 0) tenant.credit = unit * tenant.weight
      const before = taken.length
      const most = this.#turns.size === 1 ? operations : Math.min(operations, before + tenant.credit)
      room = tenant.queues.fill(taken, most, room, accept)
      tenant.credit -= taken.length - before
      if (tenant.queues.length === 0) this.#leave(tenant)
      else if (taken.length < most) {
        if (taken.length > before) this.#goBehind(tenant) // its next one does not fit: the envelope was its turn
        break
      } else if (tenant.credit <= 0) this.#goBehind(tenant)
    }
    if (this.#tenants.size >= mostTenants) this.#forgetIdle()
    return taken
  }

  /** Takes out the youngest ones of a partition. Its tenants keep the same amount each, and what some leave the others. */
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
      if (tenant.queues.length === 0) this.#leave(tenant)
      return cut
    })
  }

  /** Takes out those that are to go, wherever they stand. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    return [...this.#tenants.values()].flatMap(tenant => {
      const out = tenant.queues.takeOut(goes)
      if (tenant.queues.length === 0) this.#leave(tenant)
      return out
    })
  }

  /** The partition is open again. */
  resume(session: Session): void {
    for (const tenant of this.#tenants.values()) {
      tenant.queues.resume(session)
      this.#enter(tenant)
    }
  }

  /** Forgets what waits on the partition. */
  remove(session: Session): void {
    for (const tenant of this.#tenants.values()) {
      tenant.queues.remove(session)
      if (tenant.queues.length === 0) this.#leave(tenant)
    }
  }

  #enter(tenant: Tenant): void {
    if (tenant.queues.length === 0 || this.#turns.has(tenant)) return
    this.#turns.add(tenant)
    this.#weight += tenant.weight
  }

  #goBehind(tenant: Tenant): void {
    tenant.credit = 0
    this.#turns.delete(tenant)
    this.#turns.add(tenant)
  }

  #leave(tenant: Tenant): void {
    if (!this.#turns.delete(tenant)) return
    this.#weight -= tenant.weight
    tenant.credit = 0
  }

  #of({ command: { tenant: name } }: Pending): Tenant {
    const own = name ?? nobody
    if (this.#last?.name === own) return this.#last.tenant
    const tenant = this.#tenants.get(own) ?? this.#create(own)
    this.#last = { name: own, tenant }
    return tenant
  }

  /** Gives the name a tenant of its own, if there is room for it. */
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

  /** Makes room for others. Not while commands are put back, for their tenants are idle until all of them are found. */
  #forgetIdle(): void {
    if (this.#tenants.size === this.#turns.size) return
    this.#last = null
    for (const [name, tenant] of this.#tenants) if (tenant.queues.waiting === 0) this.#tenants.delete(name)
  }
}
