import pLimit from 'p-limit'
import { MessageSearch, type RecentCommand } from '../inspect/message/search.ts'
import { mostIds, type StoryLine, searchedText, storyLines, tell, weekMs } from '../inspect/message/story.ts'
import { idIn } from '../protocol/ids.ts'
import type { BoardOptions } from './board.ts'

const searchKinds = ['id', 'correlation', 'phone'] as const

/** A search for messages. For `phone`, the text is the last digits. */
export interface SearchRequest {
  by: (typeof searchKinds)[number]
  text: string
  /** Ids are unique within an account. Default: all accounts. */
  account?: string
  /** Milliseconds since 1970. */
  since: number
}

export interface SearchAnswer {
  /** Stories of single messages, as the lines of `busgate message --json`; of several messages, only their conclusions. */
  stories: { id: bigint; found: boolean; lines: StoryLine[]; searched: string[] }[]
  /** Messages without their stories, the newest first. */
  commands: RecentCommand[]
  /** Whether more messages match. */
  more: boolean
  /** Lines that list the searched partitions, in addition to those of each story. */
  searched: string[]
}

/** Invalid search parameters; the message says what is expected. */
export class InvalidSearch extends Error {
  override readonly name = 'InvalidSearch'
}

const longest = 1000
const mostMs = 10 * 365 * 24 * 3_600_000

/**
 * Parses `/api/messages?by=…&text=…&back=…&account=…`. `back` is how far to search back, in milliseconds; default 7 days.
 * @param reveal whether searches by phone are allowed
 * @throws InvalidSearch
 */
export function searchRequestOf(asked: URLSearchParams, reveal: boolean): SearchRequest {
  const text = (asked.get('text') ?? '').trim()
  const by = searchKinds.find(kind => kind === asked.get('by'))
  const account = asked.get('account')
  const back = Number(asked.get('back') ?? weekMs)
  const refuse = (what: string): never => {
    throw new InvalidSearch(what)
  }
  if (by === undefined) return refuse(`by: expected one of ${searchKinds.join(', ')}`)
  if (text === '' || text.length > longest) refuse('text: expected a search text')
  if (by === 'id' && idIn(text) === null) refuse('text: expected an id, a whole number from 1 to 9223372036854775807')
  if (by === 'phone' && !reveal) refuse('phones are hidden: busgate ui --reveal allows searches by phone')
  if (by === 'phone' && !/^\d{4,15}$/.test(text)) refuse('text: expected the last 4 to 15 digits of a phone')
  if (!(back > 0 && back <= mostMs)) refuse('back: expected a duration in milliseconds')
  return { by, text, since: Math.max(0, Date.now() - back), ...(account !== null && { account }) }
}

const mostListed = 50

/** Runs searches one at a time, since each uses all that the brokers and one core can give. */
export class Searches {
  readonly #options: BoardOptions
  readonly #turns = pLimit(1)

  constructor(options: BoardOptions) {
    this.#options = options
  }

  /** @throws the signal's reason, when aborted */
  find(request: SearchRequest, ending: AbortSignal): Promise<SearchAnswer> {
    return this.#turns(() => {
      ending.throwIfAborted()
      return this.#find(request, ending)
    })
  }

  async #find({ by, text, account, since }: SearchRequest, ending: AbortSignal): Promise<SearchAnswer> {
    const { reveal, bus, registry, settings } = this.#options
    const options = { bus, registry, settings, since, ending }
    const wide = new MessageSearch(options)
    if (by === 'phone') {
      const found = await wide.toPhone(text, mostListed)
      ending.throwIfAborted()
      return { stories: [], ...found, searched: searchedText(wide.findings) }
    }
    const { ids, more } = by === 'id' ? { ids: [BigInt(text)], more: false } : await wide.idsOf(text, mostIds)
    const stories: SearchAnswer['stories'] = []
    for (const id of ids) {
      const findings = await new MessageSearch(options).byId(id, account)
      ending.throwIfAborted() // incomplete findings would give a wrong story
      const story = tell(findings, id, { ...(account !== undefined && { account }), reveal })
      const lines = storyLines(story)
      if (ids.length === 1) stories.push({ id, found: story.found, lines, searched: searchedText(story) })
      else
        stories.push({ id, found: story.found, lines: lines.filter(({ kind }) => kind === 'conclusion'), searched: [] })
    }
    ending.throwIfAborted()
    const searched = by === 'id' ? [] : searchedText(wide.findings)
    return { stories, commands: [], more, searched }
  }
}
