import pLimit from 'p-limit'
import type { Bus } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { jsonOf, type LetterFilters } from '../inspect/dead-letters/letter.ts'
import { planReplay } from '../inspect/dead-letters/replay.ts'
import { type RecentMessage, type RecentMessages, recentCommands, recentResults } from '../inspect/message/recent.ts'
import { MessageSearch } from '../inspect/message/search.ts'
import { searchedText } from '../inspect/message/story.ts'
import { mostIds, storyLines, tell } from '../inspect/message/tell.ts'
import type { SendResult } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'

/** A question for messages. By `phone`, the text is its last digits; by `failure`, an outcome and an errorCode. */
export interface SearchQuestion {
  by: 'id' | 'correlation' | 'tenant' | 'phone' | 'failure'
  text: string
  /** Ids are unique within one. Default: any. */
  account?: string
  /** Milliseconds since 1970. */
  since: number
}

export interface SearchAnswer {
  /** The stories of single messages, each as the lines of `busgate message --json`. */
  stories: { id: bigint; found: boolean; lines: object[]; searched: string[] }[]
  /** Messages that are listed only, the newest first. */
  commands: RecentMessage[]
  /** Whether there are more messages than these. */
  more: boolean
  /** Lines that say what was looked through, beside the lines of each story. */
  searched: string[]
}

export interface ReplayPreview {
  ready: number
  /** The first of them. */
  examples: object[]
  refused: { why: string; count: number }[]
  command: string
}

export interface SearchesOptions {
  bus: Bus
  registry: SchemaRegistry
  settings: Settings
  /** Whether texts and phones may be seen. */
  show: boolean
}

/** At most this many searches wait for their turn. */
const mostWaiting = 8
const mostListed = 50
const mostExamples = 10

/** Too many want to search. */
export class Busy extends Error {
  override readonly name = 'Busy'
}

/** Answers what the page is asked, one after the other: each search reads as fast as the brokers and one core can. */
export class Searches {
  readonly #options: SearchesOptions
  readonly #turns = pLimit(1)

  constructor(options: SearchesOptions) {
    this.#options = options
  }

  /** @throws Busy; the signal's reason, when it gives up */
  find(question: SearchQuestion, ending: AbortSignal): Promise<SearchAnswer> {
    return this.#inTurn(ending, () => this.#find(question, ending))
  }

  /** Says what `busgate dlq replay --all` would do with these dead letters. Nothing is written. @throws as `find` */
  previewReplay(filters: LetterFilters, ending: AbortSignal): Promise<ReplayPreview> {
    return this.#inTurn(ending, async () => {
      const { bus, settings } = this.#options
      const { ready, refused } = await planReplay(bus, settings.topics.deadLetters, filters, ending)
      const reasons = Map.groupBy(refused, ({ why }) => why)
      return {
        ready: ready.length,
        examples: ready.slice(0, mostExamples).map(jsonOf),
        refused: [...reasons].map(([why, { length: count }]) => ({ why, count })),
        command: replayCommand(filters),
      }
    })
  }

  async #inTurn<T>(ending: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#turns.pendingCount >= mostWaiting) throw new Busy('too many searches wait: try again in some seconds')
    return this.#turns(async () => {
      ending.throwIfAborted()
      return work()
    })
  }

  async #find({ by, text, account, since }: SearchQuestion, ending: AbortSignal): Promise<SearchAnswer> {
    const { show, ...options } = this.#options
    const recent = { ...this.#options, since, ending }
    if (by === 'tenant') return listed(await recentCommands(recent, command => command.tenant === text, mostListed))
    if (by === 'phone') {
      return listed(await recentCommands(recent, command => String(command.phone).endsWith(text), mostListed))
    }
    if (by === 'failure') {
      const isOne = ({ outcome, errorCode }: SendResult) => `${outcome} ${errorCode ?? ''}`.trim() === text
      return listed(await recentResults(recent, isOne, mostListed))
    }
    const wide = new MessageSearch({ ...options, since, ending })
    const { ids, more } = by === 'id' ? { ids: [BigInt(text)], more: false } : await wide.idsOf(text, mostIds)
    const stories: SearchAnswer['stories'] = []
    for (const id of ids) {
      const findings = await new MessageSearch({ ...options, since, ending }).byId(id)
      ending.throwIfAborted() // a part of it would tell another story
      const story = tell(findings, id, { ...(account !== undefined && { account }), show })
      stories.push({ id, found: story.found, lines: storyLines(story), searched: searchedText(story) })
    }
    ending.throwIfAborted()
    const searched = by === 'id' ? [] : searchedText(wide.findings)
    return { stories, commands: [], more, searched }
  }
}

function listed({ newest, matching, ...searched }: RecentMessages): SearchAnswer {
  return { stories: [], commands: newest, more: matching > newest.length, searched: searchedText(searched) }
}

/** The command line with which a person replays them. */
function replayCommand({ stage, code, topic }: LetterFilters): string {
  const flags = Object.entries({ stage, code, topic }).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`--${name} ${/^[\w.@/-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`}`],
  )
  return ['busgate dlq replay --all', ...flags].join(' ')
}
