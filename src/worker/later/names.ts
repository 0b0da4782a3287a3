import type { Controls } from '../../control/controls.ts'
import { idIn } from '../../protocol/ids.ts'
import { hashOf, type Row, type Rows } from './rows.ts'

/** What is paused and withdrawn now, as hashes of names, to look through many rows quickly. */
export class ControlNames {
  readonly #rows: Rows
  readonly #paused = { campaign: new Set<number>(), tenant: new Set<number>() }
  readonly #withdrawn = { campaign: new Set<number>(), tenant: new Set<number>(), correlation: new Set<number>() }
  readonly #messages = new Set<bigint>()

  constructor(rows: Rows) {
    this.#rows = rows
  }

  update({ inForce }: Pick<Controls, 'inForce'>): void {
    const { campaign, tenant, correlation } = this.#withdrawn
    for (const names of [this.#paused.campaign, this.#paused.tenant, campaign, tenant, correlation]) names.clear()
    this.#messages.clear()
    for (const { effect, kind, name } of inForce) {
      if (kind === 'message') {
        const id = idIn(name.slice(name.lastIndexOf('/') + 1))
        if (id !== null) this.#messages.add(id)
      } else if (effect === 'withdrawn')
        this.#withdrawn[kind === 'correlation_id' ? 'correlation' : kind].add(hashOf(name))
      else if (kind === 'campaign' || kind === 'tenant') this.#paused[kind].add(hashOf(name))
    }
  }

  readonly isPaused = (row: Row): boolean => {
    const { campaign, tenant } = this.#paused
    if (campaign.size + tenant.size === 0) return false
    return campaign.has(this.#rows.name(row, 'campaign')) || tenant.has(this.#rows.name(row, 'tenant'))
  }

  /** Whether a message, or what it belongs to, may be withdrawn; its record tells for sure. */
  readonly isWithdrawn = (row: Row): boolean => {
    const rows = this.#rows
    const { campaign, tenant, correlation } = this.#withdrawn
    return (
      (campaign.size > 0 && campaign.has(rows.name(row, 'campaign'))) ||
      (tenant.size > 0 && tenant.has(rows.name(row, 'tenant'))) ||
      (correlation.size > 0 && correlation.has(rows.name(row, 'correlation'))) ||
      (this.#messages.size > 0 && this.#messages.has(rows.id(row)))
    )
  }

  get hasWithdrawals(): boolean {
    const { campaign, tenant, correlation } = this.#withdrawn
    return campaign.size + tenant.size + correlation.size + this.#messages.size > 0
  }
}
