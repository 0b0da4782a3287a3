import { setImmediate } from 'node:timers/promises'
import type { WaitLimit } from '../abort.ts'
import { brokersHint } from '../config/errors.ts'
import type { Settings } from '../config/index.ts'
import { operations, type SendType } from '../protocol/index.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import {
  type Lifecycle,
  type LifecycleState,
  lifecycleAfter,
  newLifecycle,
  stateOf,
  verdictOf,
} from '../records/lifecycle.ts'
import { Awaited, afterTimeout } from './awaited.ts'
import type { CommandPlace } from './final.ts'
import { ResultWait, whereToLook } from './result-wait.ts'
import type { Watcher } from './topic-watch.ts'
import type { Watches } from './watches.ts'

/** What became of a message in the end. */
export interface Verdict extends Omit<LifecycleState, 'stage'> {
  /** UNKNOWN: given up without a verdict. */
  verdict: 'DELIVERED' | 'FAILED' | 'UNKNOWN'
}

/** A command that was written. It costs nothing until somebody waits. */
export interface CommandHandle {
  readonly id: bigint
  readonly account: string
  /** The command's `notBefore`, milliseconds since 1970. */
  readonly notBefore: number | null
  /**
   * The final result of this record; after DUPLICATE, that of the first record with its id. All that wait share one reading of the
   * topic.
   * @throws DeadLetterError when it became a dead letter; the signal's reason, after a time-out a TimeoutError that says what was
   * found and where to look; Error when the producer is closed, or the results cannot be read
   */
  result(options?: WaitLimit): Promise<SendResult>
  /**
   * What became of the message after its result. Null if there will be none: it was not SENT, or its type has no status (call/otp,
   * hlr).
   * @throws as `result`
   */
  verdict(options?: WaitLimit): Promise<Verdict | null>
}

/** What a handle is about. */
export interface Handled {
  id: bigint
  account: string
  type: SendType
  /** When it was sent, milliseconds since 1970. */
  since: number
  /** Until when it waits, milliseconds since 1970. */
  notBefore: number | null
}

/** Makes handles, and ends what waits when their producer is closed. */
export class Handles {
  readonly #settings: Settings
  readonly #watches: () => Watches
  readonly #closing = new AbortController()
  #used: Watches | null = null

  /** @param watches called when somebody waits for the first time */
  constructor(settings: Settings, watches: () => Watches) {
    this.#settings = settings
    this.#watches = watches
  }

  /** A handle whose command is about to be written. */
  of(command: Handled): OwnHandle {
    const handle = new OwnHandle(command, this.#settings, () => (this.#used ??= this.#watches()), this.#closing.signal)
    if (this.#used) handle.expect()
    return handle
  }

  /** Rejects all that waits. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the producer was closed, so nobody waits for results any more'))
    await setImmediate() // those who waited leave
    for (const watch of Object.values(this.#used ?? {})) watch.closeIfIdle()
  }
}

export class OwnHandle implements CommandHandle {
  readonly id: bigint
  readonly account: string
  readonly notBefore: number | null
  readonly #command: Handled
  readonly #settings: Settings
  readonly #watches: () => Watches
  readonly #closing: AbortSignal
  /** Null: unknown. Undefined: not written yet. */
  #place: CommandPlace | null | undefined
  #wait: ResultWait | null = null
  #verdict: VerdictWait | null = null

  constructor(command: Handled, settings: Settings, watches: () => Watches, closing: AbortSignal) {
    this.id = command.id
    this.account = command.account
    this.notBefore = command.notBefore
    this.#command = command
    this.#settings = settings
    this.#watches = watches
    this.#closing = closing
  }

  expect(): void {
    this.#wait = this.#newWait()
    this.#wait.expect()
  }

  written(place: CommandPlace): void {
    this.#place = place
    this.#wait?.written(place)
  }

  /** The write is confirmed, and nobody says any more where the record is. */
  confirmed(): void {
    if (this.#place) return
    this.#place = null
    this.#wait?.written(null)
  }

  /** The record was perhaps not written. */
  dismiss(): void {
    this.#wait?.dismiss()
  }

  async result({ signal }: WaitLimit = {}): Promise<SendResult> {
    this.#wait ??= this.#newWait()
    return await this.#wait.result(this.#ending(signal))
  }

  async verdict({ signal }: WaitLimit = {}): Promise<Verdict | null> {
    const result = await this.result({ ...(signal && { signal }) })
    if (result.outcome !== 'SENT' || !operations[this.#command.type].hasStatus) return null
    this.#verdict ??= new VerdictWait(result, this.#watches().statuses, this.#command.since)
    return await this.#verdict.verdict(this.#ending(signal))
  }

  #newWait(): ResultWait {
    return new ResultWait(this.#settings, this.#watches(), this.#command, this.#place)
  }

  #ending(signal?: AbortSignal): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#closing]) : this.#closing
  }
}

/** Combines the status events of a message until they have a verdict. */
class VerdictWait implements Watcher<StatusEvent> {
  readonly key: string
  readonly #result: SendResult
  readonly #statuses: Watches['statuses']
  readonly #since: number
  #life: Lifecycle = newLifecycle
  readonly #verdict = new Awaited<Verdict>({
    begin: () => this.#statuses.watch(this, this.#since),
    end: () => this.#statuses.leave(this),
  })

  /** @param since when the command was sent; the first record with its id may be older */
  constructor(result: SendResult, statuses: Watches['statuses'], since: number) {
    this.key = String(result.id)
    this.#result = result
    this.#statuses = statuses
    this.#since = Math.min(since, result.commandAt ?? since)
  }

  verdict(signal: AbortSignal): Promise<Verdict> {
    return this.#verdict.wait(
      signal,
      afterTimeout(after => this.#complaint(after)),
    )
  }

  #complaint(after: string): string {
    const { trouble } = this.#statuses
    const { stage, status } = stateOf(this.#life, this.#result)
    const none = 'no status came: do callbacks reach busgate, or does a reconciler run?'
    const found = status === null ? none : `it is ${stage}.`
    const state = trouble ? `${trouble.message}: ${brokersHint}.` : found
    return `message ${this.#result.id} was SENT and has no verdict ${after}: ${state} ${whereToLook(this.#result)}`
  }

  take(event: StatusEvent): void {
    if (event.account !== this.#result.account) return
    this.#life = lifecycleAfter(this.#life, event)
    const verdict = verdictOf(this.#life, this.#result)
    if (verdict === null) return
    const { stage: _, ...state } = stateOf(this.#life, this.#result)
    this.#verdict.settle({ verdict, ...state })
  }

  fail(error: Error): void {
    this.#verdict.fail(error)
  }
}
