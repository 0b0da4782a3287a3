import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Account } from '../../src/accounts/account.ts'
import { Shares, type Slot } from '../../src/worker/sending/shares.ts'
import { ManualClock } from '../support/clock.ts'

const timeoutMs = 30_000
const quickMs = timeoutMs / 10

interface Request {
  account: Account
  slot: Slot
  isUrgent: boolean
  since: number
  isLate: boolean
}

interface Told {
  /** What the latest request took; null before the first. */
  tookMs: number | null
  isHeard: boolean
  /** When it was last quick, and no request has been late since. */
  quickAt: number | null
}

/** The rules of the slots, counted anew for each question from the requests in flight. */
class Rules {
  readonly requests: Request[] = []
  readonly told = new Map<Account, Told>()
  readonly #concurrency: number

  constructor(concurrency: number, accounts: readonly Account[]) {
    this.#concurrency = concurrency
    for (const account of accounts) this.told.set(account, { tookMs: null, isHeard: false, quickAt: null })
  }

  get #accounts(): Account[] {
    return [...this.told.keys()]
  }

  of(account: Account): Request[] {
    return this.requests.filter(request => request.account === account)
  }

  /** Requests in flight of the accounts for which this holds. */
  #count(holds: (account: Account) => boolean): number {
    return this.requests.filter(({ account }) => holds(account)).length
  }

  #isLate(account: Account): boolean {
    return this.of(account).some(({ isLate }) => isLate) || (this.told.get(account)!.tookMs ?? 0) > quickMs
  }

  #ownKind(account: Account): string {
    const { tookMs, isHeard } = this.told.get(account)!
    if (tookMs === null) return isHeard ? 'unanswered' : 'slow'
    return this.#isLate(account) ? 'slow' : 'quick'
  }

  kindOf = (account: Account): string => (this.#accounts.length === 1 ? 'quick' : this.#ownKind(account))

  areQuick = (): boolean => this.#accounts.every(account => this.kindOf(account) === 'quick')

  isSlowed = (account: Account): boolean => this.of(account).length > 0 && this.#isLate(account)

  load = (account: Account, more: number): number =>
    (this.of(account).length + more) * Math.max(1, this.told.get(account)!.tookMs ?? 0)

  free = (isUrgent: boolean): number => {
    const isKept = !isUrgent && this.#concurrency > 1 && !this.requests.some(one => one.isUrgent)
    return Math.max(0, this.#concurrency - this.requests.length - (isKept ? 1 : 0))
  }

  room = (account: Account, isUrgent: boolean): number => {
    const free = this.free(isUrgent)
    if (free === 0 || this.#accounts.length === 1) return free
    const eighth = Math.max(1, Math.floor(this.#concurrency / 8))
    const isSilent = (one: Account) => this.told.get(one)!.tookMs === null && !this.told.get(one)!.isHeard
    const isIdle = (one: Account) => this.of(one).length === 0
    const slow = this.#count(one => this.#ownKind(one) === 'slow')
    const ofSilent = this.#accounts.filter(one => isSilent(one) && isIdle(one)).length
    const others = this.#accounts.filter(one => this.#ownKind(one) !== 'slow' && isIdle(one)).length
    const left = Math.min(eighth, others + Math.min(ofSilent, Math.max(0, eighth - slow)))
    const spare = this.#concurrency < 3 ? 0 : left
    const open = Math.max(isIdle(account) ? 1 : 0, free - spare)
    const isFirst = !this.of(account).some(one => one.isUrgent === isUrgent)
    if (this.#ownKind(account) === 'unanswered') return isFirst ? Math.min(1, open) : 0
    const isQuickExpected = [...this.told.values()].some(({ quickAt }) => quickAt !== null)
    const most = isQuickExpected ? eighth : Math.max(1, Math.floor(this.#concurrency / 2))
    if (isSilent(account))
      return isFirst ? Math.min(1, open, Math.max(0, most - slow), eighth - this.#count(isSilent)) : 0
    if (this.#ownKind(account) === 'quick') return open
    return Math.min(open, Math.max(0, isFirst ? Math.min(1, most - slow) : most - 1 - slow))
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ begin: fc.nat(4), isUrgent: fc.boolean(), anyway: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ end: fc.nat(20), wasAsked: fc.nat(3).map(Boolean) }) },
  { weight: 1, arbitrary: fc.record({ heard: fc.nat(4) }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom({ pass: 100 }, { pass: quickMs }, { pass: quickMs + 1 }, { pass: timeoutMs }),
  },
  { weight: 2, arbitrary: fc.constant('note the time' as const) },
)

test('each account gets the slots that the rules give it, whatever was answered before', async () => {
  const world = fc.record({ concurrency: fc.constantFrom(1, 2, 3, 8, 16, 40), count: fc.integer({ min: 1, max: 5 }) })
  await fc.assert(
    fc.asyncProperty(world, fc.array(step, { maxLength: 80 }), async ({ concurrency, count }, steps) => {
      const clock = new ManualClock()
      const accounts = Array.from({ length: count }, (_, i) => ({ name: `a${i}` }) as Account)
      const shares = new Shares({ concurrency, accounts, timeoutMs, clock })
      const rules = new Rules(concurrency, accounts)
      const { requests, told } = rules
      for (const step of steps) {
        const now = clock.monotonic()
        if (step === 'note the time') {
          shares.noteTime()
          for (const request of requests) {
            if (now - request.since <= quickMs || request.isLate) continue
            request.isLate = true
            told.get(request.account)!.quickAt = null
          }
          for (const one of told.values()) if (now - (one.quickAt ?? now) >= 2 * timeoutMs) one.quickAt = null
        } else if ('pass' in step) await clock.pass(step.pass)
        else if ('heard' in step) {
          const account = accounts[step.heard % count]!
          shares.heard(account)
          told.get(account)!.isHeard = true
        } else if ('begin' in step) {
          const account = accounts[step.begin % count]!
          const { isUrgent } = step
          if (shares.room(account, isUrgent) === 0 && !step.anyway) continue
          requests.push({ account, isUrgent, since: now, isLate: false, slot: shares.begin(account, isUrgent) })
        } else {
          const [ended] = requests.splice(step.end % Math.max(1, requests.length), 1)
          if (!ended) continue
          shares.end(ended.slot, step.wasAsked)
          if (!step.wasAsked) continue
          const one = told.get(ended.account)!
          one.tookMs = now - ended.since
          const isLate = rules.of(ended.account).some(request => request.isLate) || one.tookMs > quickMs
          one.quickAt = isLate ? null : now
        }
        expect([shares.taken, shares.areQuick, shares.free(true), shares.free(false)]).toEqual([
          ...[requests.length, rules.areQuick(), rules.free(true), rules.free(false)],
        ])
        const seen = (
          of: Pick<Rules, 'kindOf' | 'isSlowed' | 'load' | 'room'>,
          inFlight: (account: Account) => number,
        ) =>
          accounts.map(one => ({
            ...{ kind: of.kindOf(one), isSlowed: of.isSlowed(one), load: of.load(one, 2), inFlight: inFlight(one) },
            ...{ urgent: of.room(one, true), other: of.room(one, false) },
          }))
        expect(seen(shares, one => shares.inFlight(one))).toEqual(seen(rules, one => rules.of(one).length))
      }
    }),
    { numRuns: 100 },
  )
})
