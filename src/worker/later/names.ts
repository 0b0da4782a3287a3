import type { Controls } from '../../control/controls.ts'
import { idIn } from '../../protocol/ids.ts'
import { hashOf } from './hashes.ts'
import type { Row, Rows } from './rows.ts'

/** By hash of a name, or by id: until when a command must have been appended to be withdrawn, milliseconds since 1970. */
type Ends<K> = Map<K, number>

const noPauses = () => ({ campaign: new Set<number>(), tenant: new Set<number>() })

/** What is paused and withdrawn now, as hashes of names, to look through many rows quickly. */
export class ControlNames {
  readonly #rows: Rows
  #paused = noPauses()
  readonly #withdrawn = {
    campaign: new Map() as Ends<number>,
    tenant: new Map() as Ends<number>,
    correlation: new Map() as Ends<number>,
  }
  readonly #messages: Ends<bigint> = new Map()

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** @returns whether other campaigns or tenants are paused now */
  update({ inForce }: Pick<Controls, 'inForce'>): boolean {
    const { campaign, tenant, correlation } = this.#withdrawn
    const paused = this.#paused
    this.#paused = noPauses()
    for (const names of [campaign, tenant, correlation, this.#messages]) names.clear()
    for (const { effect, kind, name, until } of inForce) {
      if (kind === 'message') {
        const id = idIn(name.slice(name.lastIndexOf('/') + 1))
        if (id !== null) add(this.#messages, id, until)
      } else if (effect === 'withdrawn')
        add(this.#withdrawn[kind === 'correlation_id' ? 'correlation' : kind], hashOf(name), until)
      else if (kind === 'campaign' || kind === 'tenant') this.#paused[kind].add(hashOf(name))
    }
    return !isSame(this.#paused.campaign, paused.campaign) || !isSame(this.#paused.tenant, paused.tenant)
  }

  readonly isPaused = (row: Row): boolean => {
    const { campaign, tenant } = this.#paused
    return campaign.has(this.#rows.name(row, 'campaign')) || tenant.has(this.#rows.name(row, 'tenant'))
  }

  /**
   * Whether a message, or what it belongs to, may be withdrawn; its record tells for sure. What came after a withdrawal is none
   * of it: all of it would be read at each change.
   */
  readonly isWithdrawn = (row: Row): boolean => {
    const rows = this.#rows
    const { campaign, tenant, correlation } = this.#withdrawn
    const since = rows.since(row)
    return (
      isUntil(campaign, since, () => rows.name(row, 'campaign')) ||
      isUntil(tenant, since, () => rows.name(row, 'tenant')) ||
      isUntil(correlation, since, () => rows.name(row, 'correlation')) ||
      isUntil(this.#messages, since, () => rows.id(row))
    )
  }

  get hasWithdrawals(): boolean {
    const { campaign, tenant, correlation } = this.#withdrawn
    return campaign.size + tenant.size + correlation.size + this.#messages.size > 0
  }
}

function add<K>(ends: Ends<K>, key: K, until: number | null): void {
  ends.set(key, Math.max(ends.get(key) ?? Number.NEGATIVE_INFINITY, until ?? Number.POSITIVE_INFINITY))
}

const isSame = (names: ReadonlySet<number>, others: ReadonlySet<number>): boolean =>
  names.size === others.size && [...names].every(name => others.has(name))

const isUntil = <K>(ends: Ends<K>, since: number, keyOf: () => K): boolean =>
  ends.size > 0 && since <= (ends.get(keyOf()) ?? Number.NEGATIVE_INFINITY)
