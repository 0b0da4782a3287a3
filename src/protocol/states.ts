/** What a gateway status means. UNKNOWN is inconclusive: ask again. */
export type State = 'PENDING' | 'DELIVERED' | 'FAILED' | 'UNKNOWN'

/**
 * The vendor's public list of statuses; the specification names DELIVERED and REJECTED only. Which of them are final is
 * known from public clients.
 */
const states: ReadonlyMap<string, State> = new Map([
  ['ACCEPTED', 'PENDING'],
  ['QUEUED', 'PENDING'],
  ['ROUTING', 'PENDING'],
  ['DELIVERED', 'DELIVERED'],
  ['PARTIALLY DELIVERED', 'DELIVERED'],
  ['READ', 'DELIVERED'],
  ['REPLIED', 'DELIVERED'],
  ['DELETED', 'FAILED'],
  ['EXPIRED', 'FAILED'],
  ['FILTERED', 'FAILED'],
  ['INVALID DESTINATION ADDRESS', 'FAILED'],
  ['INVALID SOURCE ADDRESS', 'FAILED'],
  ['NO ROUTE', 'FAILED'],
  ['REJECTED', 'FAILED'],
  ['SIM FULL', 'FAILED'],
  ['UNDELIVERABLE', 'FAILED'],
  ['UNKNOWN', 'UNKNOWN'],
])

const fold = (status: string): string =>
  status
    .replaceAll(/[\s_]+/g, ' ')
    .trim()
    .toUpperCase()

/**
 * The state behind a status text. The whole text is compared, for UNDELIVERABLE contains DELIVER; case, spaces and
 * underscores make no difference. A text that is not on the list is UNKNOWN and not final.
 */
export const stateOf = (status: string): { state: State; final: boolean } => {
  const state = states.get(status) ?? states.get(fold(status)) ?? 'UNKNOWN'
  return { state, final: state === 'DELIVERED' || state === 'FAILED' }
}
