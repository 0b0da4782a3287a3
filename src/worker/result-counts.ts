import type { ResultDetails, ResultSubject } from '../records/result.ts'
import type { Events, Telemetry } from '../telemetry/events.ts'
import type { DoubtCause } from '../vocabulary/lists.ts'

type TallyGroup = Events['results.published'] & { shares: Map<string | null, { count: number; parts: number }> }

/** Counts results and doubts of one commit, so that telemetry gets one event per group. */
export class ResultCounts {
  /** A short list: the types, outcomes and codes of one envelope of one account. */
  readonly #groups: TallyGroup[] = []
  readonly #doubts = new Map<DoubtCause, number>()
  readonly #refusedCountries: Events['country.refused'][] = []

  get isEmpty(): boolean {
    return this.#groups.length === 0 && this.#doubts.size === 0
  }

  add(subject: Pick<ResultSubject, 'type' | 'account' | 'tenant' | 'country'>, details: ResultDetails): void {
    const { type, tenant } = subject
    const { outcome, errorCode = null, payload } = details
    const group = this.#groupOf(type, outcome === 'SENT' ? subject.account : null, outcome, errorCode)
    const share = shareOf(group, tenant)
    const parts = Math.max(0, payload?.parts ?? 0)
    group.count++
    share.count++
    group.parts += parts
    share.parts += parts
    group.price += Math.max(0, payload?.price ?? 0)
    if (errorCode === 'COUNTRY') this.#addCountry(subject)
  }

  #addCountry({ account, country }: Pick<ResultSubject, 'account' | 'country'>): void {
    const known = this.#refusedCountries.find(one => one.account === account && one.country === country)
    if (known) known.count++
    else this.#refusedCountries.push({ account, country, count: 1 })
  }

  #groupOf(
    type: string,
    account: string | null,
    outcome: TallyGroup['outcome'],
    errorCode: TallyGroup['errorCode'],
  ): TallyGroup {
    for (const group of this.#groups)
      if (group.type === type && group.outcome === outcome && group.errorCode === errorCode) return group
    const group: TallyGroup = { type, account, outcome, errorCode, count: 0, parts: 0, price: 0, shares: new Map() }
    this.#groups.push(group)
    return group
  }

  addDoubt(cause: DoubtCause): void {
    this.#doubts.set(cause, (this.#doubts.get(cause) ?? 0) + 1)
  }

  /** Emits the events; call it after the commit. */
  announce(telemetry: Telemetry): void {
    for (const [cause, count] of this.#doubts) telemetry.emit('doubt.opened', { cause, count })
    for (const group of this.#groups) telemetry.emit('results.published', group)
    for (const refused of this.#refusedCountries) telemetry.emit('country.refused', refused)
  }
}

function shareOf({ shares }: TallyGroup, tenant: string | null): { count: number; parts: number } {
  const known = shares.get(tenant)
  if (known) return known
  const share = { count: 0, parts: 0 }
  shares.set(tenant, share)
  return share
}
