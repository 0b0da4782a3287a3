import type { State } from '../vocabulary/lists.ts'

/**
 * The vendor's public list of statuses; the specification names only DELIVERED and REJECTED. Which are final is known from
 * public clients.
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

/** The listed state of a status text; undefined if it is unlisted. Compares the whole text, since UNDELIVERABLE contains DELIVER. */
export const meaningOfStatus = (status: string): State | undefined =>
  statusTexts.get(status) ?? statusTexts.get(fold(status))

/**
 * The state for a status text in a poll's answer; for a callback, use `callbackStateOf`. Compares texts without
 * case, spaces and underscores. If the text is empty or unlisted, `success` decides (specification: States and transitions); without it, the state is UNKNOWN and not final.
 */
export const pollStateOf = (status: string, success: boolean | null = null): { state: State; final: boolean } => {
  const told = success === null ? 'UNKNOWN' : success ? 'DELIVERED' : 'FAILED'
  const state = meaningOfStatus(status) ?? told
  return { state, final: state === 'DELIVERED' || state === 'FAILED' }
}

/**
 * Returns the state that a callback reports. A callback is sent at a final state (specification: Events), so `success`
 * decides, whatever the status text is. `contradicts`: the text is listed with another state.
 */
export function callbackStateOf(status: string, success: boolean): { state: State; contradicts: boolean } {
  const state = success ? 'DELIVERED' : 'FAILED'
  const listed = pollStateOf(status).state
  return { state, contradicts: listed !== 'UNKNOWN' && listed !== state }
}
