/** Each invariant must hold whatever happens. */
export type Invariant =
  | 'one final result'
  | 'at most once'
  | 'sent again only in doubt'
  | 'one POST at a time'
  | 'intent before POST'
  | 'no POST after the deadline'
  | 'no POST after the lease'
  | 'no POST after a stop'
  | 'no POST above the rate'
  | 'no POST of what is paused'
  | 'no POST of what is withdrawn'
  | 'the result tells the truth'
  | 'a doubt ends SENT or UNRESOLVED'
  | 'no doubt without a cause'
  | 'a kill leaves few in doubt'
  | 'nothing is left over'
  | 'the worker goes on'

export interface Violation {
  invariant: Invariant
  detail: string
}

export type Accuse = (invariant: Invariant, detail: string) => void
