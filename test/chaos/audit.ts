import type { Bus, Reader } from '../../src/bus/port.ts'
import { decodeAll } from '../../src/cli/read.ts'
import type { Settings } from '../../src/config/index.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import type { SchemaRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { idOf, indexOf, policyOf } from './ids.ts'

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

/** Reads results as any consumer does, from the beginning to the end. */
export class Audit {
  readonly #commands: number
  readonly #finals: Uint8Array
  readonly #doubted: Uint8Array
  readonly #outcomes: (SendResult['outcome'] | undefined)[]
  #duplicates = 0
  finished = 0

  constructor(commands: number) {
    this.#commands = commands
    this.#finals = new Uint8Array(commands)
    this.#doubted = new Uint8Array(commands)
    this.#outcomes = new Array(commands)
  }

  read(bus: Bus, settings: Settings, registry: SchemaRegistry): Promise<Reader> {
    const decoder = createDecoder<SendResult>(schemas.result, registry)
    return bus.read([settings.topics.results], 'earliest', async (_, records) => {
      for (const decoded of await decodeAll(decoder, records)) {
        if (!decoded.ok) throw new Error('a result cannot be decoded')
        this.#note(decoded.value)
      }
    })
  }

  #note({ id, outcome, final }: SendResult): void {
    const index = indexOf(id)
    if (outcome === 'DUPLICATE') {
      this.#duplicates++ // the producer repeated a send that was not confirmed
      return
    }
    if (!final) {
      this.#doubted[index] = 1
      return
    }
    if (this.#finals[index]!++ === 0) this.finished++
    this.#outcomes[index] = outcome
  }

  verdict(sandbox: Sandbox): Verdict {
    const verdict: Verdict = {
      commands: this.#commands,
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
    for (let index = 0; index < this.#commands; index++) {
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

/** What may never happen. Under AT_LEAST_ONCE a second execution is a risk that the command has taken. */
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
