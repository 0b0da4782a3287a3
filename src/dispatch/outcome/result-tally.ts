import type { DoubtCause } from '../../protocol/index.ts'
import type { Events, Telemetry } from '../../telemetry/events.ts'

type TallyGroup = Events['results.published']

/** Counts results and doubts that are published together, so that telemetry hears once a group. */
export class ResultTally {
  /** Few: the types, outcomes and codes of one envelope. */
  readonly #groups: TallyGroup[] = []
  readonly #doubts = new Map<DoubtCause, number>()

  get isEmpty(): boolean {
    return this.#groups.length === 0 && this.#doubts.size === 0
  }

  add(type: string, outcome: TallyGroup['outcome'], errorCode: TallyGroup['errorCode']): void {
    const group = this.#groups.find(
      group => group.type === type && group.outcome === outcome && group.errorCode === errorCode,
    )
    if (group) group.count++
    else this.#groups.push({ type, outcome, errorCode, count: 1 })
  }

  addDoubt(cause: DoubtCause): void {
    this.#doubts.set(cause, (this.#doubts.get(cause) ?? 0) + 1)
  }

  /** It is called when the results are committed. */
  announce(telemetry: Telemetry): void {
    for (const [cause, count] of this.#doubts) telemetry.emit('doubt.opened', { cause, count })
    for (const group of this.#groups) telemetry.emit('results.published', group)
  }
}
