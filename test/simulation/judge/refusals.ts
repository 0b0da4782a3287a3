import type { BusRecord } from '../../../src/bus/port.ts'
import { hasContent } from '../../../src/records/sealed.ts'
import type { CommandPlan, KeyPlan, Kid, StrictPlan } from '../plan.ts'
import type { Owner } from '../scheduler.ts'
import type { Report } from './invariants.ts'
import { type Life, nameOf } from './lives.ts'

export interface RefusalsOptions {
  now: () => number
  /** When virtual time began, in milliseconds since 1970. */
  epoch: number
  keys: readonly KeyPlan[]
  /** Processes have a new file of keys at most so many milliseconds after it was written. */
  keysLagMs: number
  strict: StrictPlan | null
}

/** How long a worker waits for a key before it writes a dead letter. */
const patienceMs = 10_000

const refusedKinds: readonly CommandPlan['kind'][] = ['invalid', 'unknown account', 'moved']

/** Checks what may not be sent: what no key opens, what breaks the interface, and what the settings of a process refuse. */
export class Refusals {
  readonly #options: RefusalsOptions
  readonly #report: Report
  /** When a key was first asked for. */
  readonly #firstAt = new Map<Kid, number>()

  constructor(options: RefusalsOptions, report: Report) {
    this.#options = options
    this.#report = report
  }

  published({ kid }: CommandPlan): void {
    if (kid !== null && !this.#firstAt.has(kid)) this.#firstAt.set(kid, this.#options.now())
  }

  /** A process POSTs a command that was never in doubt. */
  began(owner: Owner, life: Life): void {
    const { epoch, strict } = this.#options
    const { plan } = life.command
    if (plan.kind !== 'valid')
      this.#report('no POST of what is refused', `${nameOf(life)} is POSTed, and is ${plan.kind}`)
    if (life.places.length > 1) return
    if (strict && owner.startedAt >= strict.from && isRefusedBy(strict, plan))
      this.#report('no POST of what is refused', `${owner.name} POSTs ${nameOf(life)}, which its settings refuse`)
    const key = this.#keyOf(plan)
    if (key && this.#options.now() - epoch < key.from)
      this.#report(
        'no POST of what is refused',
        `${nameOf(life)} is POSTed, and its key ${plan.kid} does not exist yet`,
      )
  }

  /** Whether a process may have found it INVALID so far. */
  mayBeInvalid({ kind, ...plan }: CommandPlan, errorCode: string | null): boolean {
    const { now, epoch, strict } = this.#options
    const isStrict = strict !== null && now() - epoch >= strict.from && isRefusedBy(strict, { kind, ...plan })
    if (errorCode === 'SEAL') return kind === 'moved' || (isStrict && strict.clear)
    if (errorCode === 'COUNTRY') return isStrict && strict.countries
    return refusedKinds.includes(kind) && kind !== 'moved'
  }

  /** Whether a process may have lacked its key so far. */
  mayLackKey({ kid }: CommandPlan): boolean {
    return kid !== null && this.#lackedMs(kid) > 0
  }

  /** Checks the dead letter of a command that can be read. */
  deadLetter(life: Life, { headers }: BusRecord): void {
    const code = String(headers['busgate.error.code'])
    const { plan } = life.command
    const reportFalse = (why: string) => this.#report('the result tells the truth', `${nameOf(life)} ${why}`)
    if (code !== 'KEY_NOT_FOUND' || plan.kid === null) reportFalse(`can be read, and is a dead letter: ${code}`)
    else if (this.#lackedMs(plan.kid) < patienceMs)
      reportFalse(`is a dead letter, but its key ${plan.kid} was missing for ${this.#lackedMs(plan.kid)} ms only`)
    if (life.places.length > 1)
      this.#report('a doubt ends SENT or UNRESOLVED', `${nameOf(life)} is a dead letter, and was in doubt`)
    if ('busgate.error.perhaps-sent' in headers) reportFalse('is a dead letter that says it was perhaps sent')
  }

  #keyOf({ kid }: CommandPlan): KeyPlan | undefined {
    return kid === null ? undefined : (this.#options.keys.find(one => one.kid === kid) ?? { kid, ...never })
  }

  /** Milliseconds for which a process may have lacked a key since it was first asked for. */
  #lackedMs(kid: Kid): number {
    const { now, epoch, keysLagMs, keys } = this.#options
    const { from, until } = keys.find(key => key.kid === kid) ?? never
    const [first, last] = [this.#firstAt.get(kid)! - epoch, now() - epoch]
    if (from === until) return last - first
    const late = Math.min(last, from + keysLagMs) - first
    return (from > 0 ? Math.max(0, late) : 0) + Math.max(0, last - Math.max(first, until))
  }
}

const never = { from: Number.POSITIVE_INFINITY, until: Number.POSITIVE_INFINITY }

const isRefusedBy = ({ countries, clear }: StrictPlan, { kid, type }: CommandPlan): boolean =>
  countries || (clear && kid === null && hasContent(type))
