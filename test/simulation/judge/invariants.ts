/** What must hold, whatever happens. */
export type Invariant =
  | 'one final result'
  | 'at most once'
  | 'sent again only in doubt'
  | 'one POST at a time'
  | 'intent before POST'
  | 'no POST before its time'
  | 'no POST after the deadline'
  | 'no POST after the lease'
  | 'no POST after a stop'
  | 'no POST above the rate'
  | 'no POST during a pause'
  | 'no POST after a withdrawal'
  | 'no POST of what is refused'
  | 'the result tells the truth'
  | 'a doubt ends SENT or UNRESOLVED'
  | 'no doubt without a cause'
  | 'a kill leaves few doubts'
  | 'nothing is left over'
  | 'the worker keeps running'

export interface Violation {
  invariant: Invariant
  detail: string
}

export type Report = (invariant: Invariant, detail: string) => void
