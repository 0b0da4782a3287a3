import type { State } from './lists.ts'

/**
 * The vendor's public list of statuses; the specification names DELIVERED and REJECTED only. Which of them are final is
 * known from public clients.
 */
export const statusTexts: ReadonlyMap<string, State> = new Map([
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
 * The state behind a status text in the answer to a poll; that of a callback is `callbackStateOf`. The whole text is
 * compared, for UNDELIVERABLE contains DELIVER; case, spaces and underscores make no difference. Where the text is empty or
 * not on the list, `success` tells (specification: States and transitions). Without it the state is UNKNOWN and not final.
 */
export const stateOf = (status: string, success: boolean | null = null): { state: State; final: boolean } => {
  const listed = statusTexts.get(status) ?? statusTexts.get(fold(status))
  const told = success === null ? 'UNKNOWN' : success ? 'DELIVERED' : 'FAILED'
  const state = listed ?? told
  return { state, final: state === 'DELIVERED' || state === 'FAILED' }
}

/**
 * Returns the state that a callback reports. It comes at a final state (specification: Events), so `success` decides,
 * whatever the status text is. `contradicts`: the text is a listed one, and says otherwise.
 */
export function callbackStateOf(status: string, success: boolean): { state: State; contradicts: boolean } {
  const state = success ? 'DELIVERED' : 'FAILED'
  const listed = stateOf(status).state
  return { state, contradicts: listed !== 'UNKNOWN' && listed !== state }
}
