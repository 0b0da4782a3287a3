import { setTimeout as pause } from 'node:timers/promises'
import type { Reader } from '../../src/bus/port.ts'
import { createDecoder, decodeAll } from '../../src/records/decoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { idOf, indexOf, policyOf } from './load.ts'
import type { RunOptions, Stage } from './stage.ts'

/** What the topics and the gateway say in the end. */
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
  /** Records that the producer wrote again. */
  duplicates: number
  outcomes: Record<string, number>
}

const patienceMs = 240_000

/** Reads results as any consumer does, from the beginning to the end. */
export class Audit {
  /** When each command was POSTed, milliseconds since 1970; 0: it was not, or nobody knows. */
  readonly sentAt: Float64Array
  readonly #options: RunOptions
  readonly #finals: Uint8Array
  readonly #doubted: Uint8Array
  readonly #outcomes: (SendResult['outcome'] | undefined)[]
  /** All results, of whatever kind. */
  results = 0
  #duplicates = 0
  #finished = 0

  /**
   * Reads from the beginning until every command is finished, for some minutes at most. Meant for the time after the load,
   * which it would add to.
   */
  static async of(stage: Stage, options: RunOptions): Promise<Audit> {
    const audit = new Audit(options)
    await audit.#read(stage)
    await audit.#untilFinished()
    return audit
  }

  private constructor(options: RunOptions) {
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
        this.#note(decoded.value)
      }
    })
  }

  /** Waits for all results, some minutes at most, and then for what may follow though it must not. */
  async #untilFinished(): Promise<void> {
    const { commands, say } = this.#options
    const patience = performance.now() + patienceMs
    let last = -1
    while (this.#finished < commands && performance.now() < patience) {
      if (this.#finished !== last) say(`${this.#finished} of ${commands} finished`)
      last = this.#finished
      await pause(2000)
    }
    await pause(3000)
  }

  #note(result: SendResult): void {
    const { id, outcome, final, sentAt } = result
    const index = indexOf(id)
    this.results++
    if (outcome === 'DUPLICATE') {
      this.#duplicates++ // the producer repeated a send that was not confirmed
      return
    }
    if (!final) {
      this.#doubted[index] = 1
      return
    }
    if (this.#finals[index]!++ === 0) this.#finished++
    else this.#tell(result)
    this.#outcomes[index] = outcome
    this.sentAt[index] = sentAt ?? 0
  }

  /** What the logs of the processes can be searched for: a second final result, and when the command was sent. */
  #tell({ id, outcome, commandTopic, commandPartition, commandOffset, sentAt, completedAt }: SendResult): void {
    const first = `${this.#outcomes[indexOf(id)]}, sent at ${timeOf(this.sentAt[indexOf(id)])}`
    const second = `${outcome}, sent at ${timeOf(sentAt)}, completed at ${timeOf(completedAt)}`
    this.#options.say(`${id} (${commandTopic}/${commandPartition} at ${commandOffset}): ${first}; then ${second}`)
  }

  verdict(sandbox: Sandbox): Verdict {
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
      const outcome = this.#outcomes[index] ?? 'none'
      const executions = sandbox.executions(idOf(index))
      if (this.#finals[index] === 0) verdict.withoutFinalResult++
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

const timeOf = (ms: number | null | undefined) => (ms ? new Date(ms).toISOString() : 'no time that is known')

/** Names what has happened that never may. Under AT_LEAST_ONCE a second execution is a risk that the command has taken. */
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
