import { MessageSearch } from '../../src/inspect/message/search.ts'
import { tell } from '../../src/inspect/message/story.ts'
import { idOf, type Load } from './load.ts'
import type { Ends } from './losses.ts'
import type { Stage } from './stage.ts'

/** What a story is compared with. */
export interface Known extends Ends {
  isDeleted(index: number): boolean
  say(line: string): void
}

const dayMs = 24 * 3_600_000
/** The number of messages that are asked for at the end. */
const mostAtTheEnd = 100

/** Asks `busgate message ID` about messages, and compares its sentences with what the gateway has executed. */
export class Stories {
  told = 0
  falseOnes = 0
  readonly #stage: Stage
  readonly #load: Load
  readonly #known: Known

  constructor(stage: Stage, load: Load, known: Known) {
    this.#stage = stage
    this.#load = load
    this.#known = known
  }

  /** Asks about a message while the load runs. */
  async ask(index: number): Promise<void> {
    const executedBefore = this.#known.executionsOf(index)
    const text = await this.#conclusionOf(index)
    this.#judge(index, text, executedBefore)
  }

  /** Asks about an even share of all messages, those in doubt among them, when nothing can happen any more. */
  async tellAll(): Promise<void> {
    const all = Array.from({ length: this.#load.produced }, (_, index) => index)
    const every = Math.max(1, Math.floor(all.length / mostAtTheEnd))
    const lost = all.filter(index => !this.#known.hasFinal(index)).slice(0, mostAtTheEnd)
    for (const index of new Set([...all.filter(index => index % every === 0), ...lost])) {
      const text = await this.#conclusionOf(index)
      this.#judge(index, text, this.#known.executionsOf(index))
      if (/result (will follow|follows)|Not sent yet|Being sent now/.test(text)) this.#isFalse(index, text)
    }
  }

  async #conclusionOf(index: number): Promise<string> {
    const { bus, registry, settings } = this.#stage
    const { signal: ending } = new AbortController()
    const search = new MessageSearch({ bus, registry, settings, since: Date.now() - dayMs, ending })
    const id = BigInt(idOf(index))
    const { conclusions } = tell(await search.byId(id), id, {})
    this.told++
    return conclusions.map(({ text }) => text).join(' | ')
  }

  #judge(index: number, text: string, executedBefore: number): void {
    const saysUnsent = /^(Not sent|This record was not sent)/.test(text)
    const saysSent = /^(Sent:|Delivered|Not delivered|It was in doubt until)/.test(text)
    const isUnknown = /^(No trace|Neither)/.test(text)
    const isFalse =
      (saysUnsent && executedBefore > 0) ||
      (saysSent && this.#known.executionsOf(index) === 0) ||
      (isUnknown && !this.#known.isDeleted(index))
    if (isFalse) this.#isFalse(index, text)
  }

  #isFalse(index: number, text: string): void {
    this.falseOnes++
    this.#known.say(`not true of ${idOf(index)}, executed ${this.#known.executionsOf(index)} times: ${text}`)
  }
}
