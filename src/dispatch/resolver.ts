import type { Account } from '../accounts/account.ts'
import type { PollAnswer, StatusPoller } from '../accounts/poller.ts'
import type { Clock } from '../clock.ts'
import { operations, type SendType, stateOf } from '../protocol/index.ts'
import { readPayload } from '../records/result.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { concludeExpired } from './conclusion.ts'
import type { Outbox } from './outbox.ts'
import { expiry, type Pending } from './pending.ts'
import { type ResultDetails, ResultTally } from './results.ts'

export type Policy = 'AT_MOST_ONCE' | 'AT_LEAST_ONCE'

export interface ResolverOptions {
  poller: StatusPoller
  accounts: ReadonlyMap<string, Account>
  outbox: Outbox
  /** Puts a command in the queue to be POSTed again. */
  sendAgain: (pending: Pending) => void
  /** What types do without an instruction of their own. */
  policies: Readonly<Record<SendType, Policy>>
  /** A POST may still be executed this long after it can have begun. */
  settleMs: number
  polls: number
  pollIntervalMs: number
  attempts: number
  /** Texts by which the gateway says that it never had a message. */
  notFoundErrors: readonly string[]
  maxAgeMs: number
  clock: Clock
  telemetry: Telemetry
}

/** Their payload goes with the lost answer, and the gateway keeps no status of them. */
const withoutStatus: readonly SendType[] = ['call/otp', 'hlr']

/** What a status poll tells about a message in doubt. */
export type Evidence = 'sent' | 'not_found' | 'inconclusive' | 'unanswered'

/** Reads a poll's answer. A status UNKNOWN proves nothing; a refusal only counts as "not found" by the texts given. */
export function evidenceOf(answer: PollAnswer, notFoundErrors: readonly string[]): Evidence {
  if (answer.kind === 'in_doubt') return 'unanswered'
  if (answer.kind === 'refused') {
    if (answer.code === 'THROTTLED' || answer.code === 'ACCESS_DENIED') return 'unanswered'
    return notFoundErrors.includes(answer.error) ? 'not_found' : 'inconclusive'
  }
  const { data } = operations.status.payload.safeParse(answer.data)
  const status = (data as { status?: unknown } | undefined)?.status
  return typeof status === 'string' && stateOf(status).state !== 'UNKNOWN' ? 'sent' : 'inconclusive'
}

/**
 * Resolves doubts: waits until the POST can no longer be executed late, asks for the status, and then gives the final
 * result, or sends again where the policy allows it. It keeps nothing of its own: after a restart it begins again.
 */
export class Resolver {
  readonly #options: ResolverOptions
  /** Doubts that are being resolved in this process. */
  open = 0

  constructor(options: ResolverOptions) {
    this.#options = options
  }

  /** @param postedAt when the last POST can have begun at the latest, milliseconds since 1970 */
  resolve(pending: Pending, postedAt: number): void {
    const { clock, settleMs } = this.#options
    this.open++
    const canBeAsked = !withoutStatus.includes(pending.command.type)
    const wait = this.#mayGoAgain(pending) || canBeAsked ? Math.max(0, postedAt + settleMs - clock.now()) : 0
    this.#after(wait, pending, () => {
      if (canBeAsked) void this.#poll(pending, postedAt, 0)
      else this.#decide(pending, postedAt)
    })
  }

  async #poll(pending: Pending, postedAt: number, inconclusive: number): Promise<void> {
    const { poller, accounts, notFoundErrors, polls, pollIntervalMs, telemetry, clock, maxAgeMs } = this.#options
    const account = accounts.get(pending.command.account)
    if (!account) {
      this.#decide(pending, postedAt)
      return
    }
    const answer = await poller.ask(account, pending.command.idText, () => pending.session.alive)
    if (!this.#stillOurs(pending)) return
    const evidence = evidenceOf(answer, notFoundErrors)
    telemetry.emit('status.polled', { result: evidence })
    if (evidence === 'sent') {
      const payload = answer.kind === 'sent' ? readPayload(pending.command.type, answer.data) : undefined
      this.#settle(pending, {
        outcome: 'SENT',
        attempts: pending.attempts,
        sentAt: postedAt,
        ...(payload && { payload }),
      })
      return
    }
    const asked = inconclusive + (evidence === 'inconclusive' ? 1 : 0)
    const tooOld = clock.now() > pending.origin.record.timestamp + maxAgeMs
    if (evidence === 'not_found' || asked >= polls || tooOld) this.#decide(pending, postedAt)
    else this.#after(pollIntervalMs, pending, () => void this.#poll(pending, postedAt, asked))
  }

  /** Everything that can be asked has been asked. */
  #decide(pending: Pending, postedAt: number): void {
    const { attempts: mostAttempts, maxAgeMs, clock, sendAgain } = this.#options
    const { attempts } = pending
    const expired = expiry(pending, clock.now(), maxAgeMs)
    const error = 'nobody could tell whether it was sent'
    if (!this.#mayGoAgain(pending)) {
      this.#settle(pending, { outcome: 'UNRESOLVED', attempts, errorCode: 'RESPONSE_LOST', error, sentAt: postedAt })
    } else if (expired) {
      this.#settle(pending, concludeExpired(pending, expired))
    } else if (attempts >= mostAttempts) {
      this.#settle(pending, {
        outcome: 'UNRESOLVED',
        attempts,
        errorCode: 'ATTEMPTS_EXHAUSTED',
        error,
        sentAt: postedAt,
      })
    } else {
      this.open--
      sendAgain(pending)
    }
  }

  #mayGoAgain({ command }: Pending): boolean {
    const policy = command.delivery === 'DEFAULT' ? this.#options.policies[command.type] : command.delivery
    return policy === 'AT_LEAST_ONCE' && this.#options.accounts.has(command.account)
  }

  #settle(pending: Pending, details: ResultDetails): void {
    const { outbox, telemetry } = this.#options
    const tally = new ResultTally()
    this.open--
    outbox.settle(pending, details, tally)
    void pending.session.committed().then(() => tally.announce(telemetry))
  }

  #after(ms: number, pending: Pending, action: () => void): void {
    this.#options.clock.after(ms, () => {
      if (this.#stillOurs(pending)) action()
    })
  }

  /** What the partition's next owner will resolve is no longer this one's. */
  #stillOurs({ session }: Pending): boolean {
    if (session.alive) return true
    this.open--
    return false
  }
}
