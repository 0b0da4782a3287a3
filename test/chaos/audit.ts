import { setTimeout as pause } from 'node:timers/promises'
import type { Reader } from '../../src/bus/port.ts'
import { createDecoder, decodeAll } from '../../src/records/decoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'
import { indexOf, policyOf } from './load.ts'
import type { RunOptions, Stage } from './stage.ts'

/** What is on the topics and at the gateway after a run. */
export interface Verdict {
  commands: number
  withoutFinalResult: number
  withTwoFinalResults: number
  executedTwiceUnderAtMostOnce: number
  executedTwiceUnderAtLeastOnce: number
  /** SENT, but the gateway never executed it. */
  sentButNotExecuted: number
  /** REJECTED, INVALID, EXPIRED or DUPLICATE, but the gateway executed it. */
  notSentButExecuted: number
  everInDoubt: number
  /** Records that the producer wrote a second time. */
  duplicates: number
  outcomes: Record<string, number>
}

const timeoutMs = 240_000

/** Reads all results, as any consumer does. */
export class Audit {
  /** When each command was POSTed, in milliseconds since 1970. 0 if it was not, or if nobody knows. */
  readonly sentAt: Float64Array
  readonly #options: RunOptions
  readonly #finals: Uint8Array
  readonly #doubted: Uint8Array
  readonly #outcomes: (SendResult['outcome'] | undefined)[]
  /** The number of results, final or not. */
  results = 0
  /** The number of commands that have a final result, or ended otherwise. */
  finished = 0
  /** The number of results that say IN_DOUBT. */
  doubted = 0
  #duplicates = 0
  readonly #endedOtherwise = new Set<number>()

  /**
   * Reads from the beginning until every command is finished, for at most four minutes. Call it after the load, because
   * it needs CPU, too.
   */
  static async of(stage: Stage, options: RunOptions): Promise<Audit> {
    const audit = new Audit(options)
    await audit.#read(stage)
    await audit.untilFinished()
    return audit
  }

  constructor(options: RunOptions) {
    const { commands } = options
    this.#options = options
    this.sentAt = new Float64Array(commands)
    this.#finals = new Uint8Array(commands)
    this.#doubted = new Uint8Array(commands)
    this.#outcomes = new Array(commands)
  }

  #read({ bus, settings, registry }: Stage): Promise<Reader> {
    const decoder = createDecoder<SendResult>(schemas.result, registry)
    return bus.read([settings.topics.results], 'earliest', async (_, records) => {
      for (const decoded of await decodeAll(decoder, records)) {
        if (!decoded.ok) throw new Error('a result cannot be decoded')
        this.count(decoded.value)
      }
    })
  }

  /** Waits at most four minutes for all results, and then three seconds for results that must not come. */
  async untilFinished(): Promise<void> {
    const { commands, say } = this.#options
    const deadline = performance.now() + timeoutMs
    let last = -1
    while (this.finished < commands && performance.now() < deadline) {
      if (this.finished !== last) say(`${this.finished} of ${commands} finished`)
      last = this.finished
      await pause(2000)
    }
    await pause(3000)
  }

  count(result: SendResult): void {
    const { id, outcome, final, sentAt } = result
    const index = indexOf(id)
    this.results++
    if (outcome === 'DUPLICATE') {
      this.#duplicates++ // the producer repeated a send that was not confirmed
      return
    }
    if (!final) {
      this.doubted++
      this.#doubted[index] = 1
      return
    }
    if (this.#finals[index]!++ === 0) this.finished += this.#endedOtherwise.has(index) ? 0 : 1
    else this.#reportSecondFinal(result)
    this.#outcomes[index] = outcome
    this.sentAt[index] = sentAt ?? 0
  }

  hasFinal(index: number): boolean {
    return this.#finals[index]! > 0
  }

  /** Whether it has a final result, or ended otherwise. */
  hasEnded(index: number): boolean {
    return this.hasFinal(index) || this.#endedOtherwise.has(index)
  }

  /** Whether it has no final result although it is in doubt. */
  isInDoubt(index: number): boolean {
    return this.#doubted[index] === 1 && !this.hasFinal(index) && !this.#endedOtherwise.has(index)
  }

  /** The command ended with a dead letter, or was told to be lost, and gets no final result. */
  endOtherwise(index: number): void {
    if (!this.#endedOtherwise.has(index) && !this.hasFinal(index)) this.finished++
    this.#endedOtherwise.add(index)
  }

  /** Reports a second final result, with times to search for in the logs of the processes. */
  #reportSecondFinal({
    id,
    outcome,
    commandTopic,
    commandPartition,
    commandOffset,
    sentAt,
    completedAt,
  }: SendResult): void {
    const first = `${this.#outcomes[indexOf(id)]}, sent at ${timeOf(this.sentAt[indexOf(id)])}`
    const second = `${outcome}, sent at ${timeOf(sentAt)}, completed at ${timeOf(completedAt)}`
    this.#options.say(`${id} (${commandTopic}/${commandPartition} at ${commandOffset}): ${first}; then ${second}`)
  }

  /** @param executionsOf how often the gateway executed a command */
  verdict(executionsOf: (index: number) => number): Verdict {
    const { commands } = this.#options
    const verdict: Verdict = {
      commands,
      withoutFinalResult: 0,
      withTwoFinalResults: 0,
      executedTwiceUnderAtMostOnce: 0,
      executedTwiceUnderAtLeastOnce: 0,
      sentButNotExecuted: 0,
      notSentButExecuted: 0,
      everInDoubt: 0,
      duplicates: this.#duplicates,
      outcomes: {},
    }
    for (let index = 0; index < commands; index++) {
      const isOtherwise = this.#endedOtherwise.has(index)
      const outcome = this.#outcomes[index] ?? (isOtherwise ? 'ended otherwise' : 'none')
      const executions = executionsOf(index)
      if (this.#finals[index] === 0 && !isOtherwise) verdict.withoutFinalResult++
      if (this.#finals[index]! > 1) verdict.withTwoFinalResults++
      if (executions > 1 && policyOf(index) === 'AT_MOST_ONCE') verdict.executedTwiceUnderAtMostOnce++
      if (executions > 1 && policyOf(index) === 'AT_LEAST_ONCE') verdict.executedTwiceUnderAtLeastOnce++
      if (outcome === 'SENT' && executions === 0) verdict.sentButNotExecuted++
      if (/^(REJECTED|INVALID|EXPIRED|DUPLICATE)$/.test(outcome) && executions > 0) verdict.notSentButExecuted++
      verdict.everInDoubt += this.#doubted[index]!
      const label = this.#doubted[index] ? `${outcome} after doubt` : outcome
      verdict.outcomes[label] = (verdict.outcomes[label] ?? 0) + 1
    }
    return verdict
  }
}

const timeOf = (ms: number | null | undefined) => (ms ? new Date(ms).toISOString() : 'an unknown time')

/** Names the counts that must be 0, but are not. Under AT_LEAST_ONCE a command may be executed twice. */
export function violations(verdict: Verdict): string[] {
  const forbidden = [
    'withoutFinalResult',
    'withTwoFinalResults',
    'executedTwiceUnderAtMostOnce',
    'sentButNotExecuted',
    'notSentButExecuted',
  ] as const
  return forbidden.filter(name => verdict[name] > 0)
}
