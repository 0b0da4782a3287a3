import type { Bus } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { MessageSearch } from '../../inspect/message/search.ts'
import { type Event, mostIds, type Story, searchedText, storyLines, tell, weekMs } from '../../inspect/message/story.ts'
import { registryOf } from '../../records/registry.ts'
import { timeText } from '../../words.ts'
import { command, type FlagValues, idFlag, textFlag, toggle, UsageError } from '../framework/command.ts'
import { jsonText, printable, printLine } from '../framework/terminal.ts'
import { sinceFlag } from '../framework/times.ts'
import { onBus } from '../on-bus.ts'
import { configFlag } from '../settings.ts'

const flags = {
  id: { ...idFlag('The id of the command.'), bare: true as const },
  'correlation-id': textFlag(
    'TEXT',
    'Instead of the id: all messages with this correlationId. Searches all partitions.',
  ),
  tenant: textFlag('NAME', 'Only messages of this tenant.'),
  account: textFlag('NAME', 'Only messages of this account: ids are unique within one.'),
  since: sinceFlag('How far back to search. Default: 7d.'),
  reveal: toggle('Shows texts, phones, codes and replies.'),
  json: toggle('Prints one JSON object per line.'),
  config: configFlag,
}

type Options = FlagValues<typeof flags>

export const message = command({
  about: [
    'Shows what became of a message, in order of time: its command, doubts, results, status events and dead letter.',
    'Then says what that means, what to do, and what was searched.',
    'Texts, phones, codes and replies are shown as *** unless --reveal is given.',
    '',
    'Exits 0 if something was found, else 1.',
  ].join('\n'),
  flags,
  run: ({ config, ...options }) =>
    onBus(config, async (bus, settings, ending) => ((await lookUp(bus, settings, options, ending)) ? 0 : 1)),
})

async function lookUp(bus: Bus, settings: Settings, options: Options, ending: AbortSignal): Promise<boolean> {
  const { id, 'correlation-id': correlationId, since = Date.now() - weekMs } = options
  if ((id === undefined) === (correlationId === undefined)) {
    throw new UsageError('message needs an ID, or --correlation-id')
  }
  const search = () => new MessageSearch({ bus, registry: registryOf(settings), settings, since, ending })
  const tellOf = async (one: bigint) => {
    const findings = await search().byId(one, options.account)
    ending.throwIfAborted() // incomplete findings would give a wrong story
    return show(tell(findings, one, options), options)
  }
  if (id !== undefined) return tellOf(id)
  const wide = search()
  const { ids, more } = await wide.idsOf(correlationId!, mostIds)
  ending.throwIfAborted()
  if (ids.length === 0) process.stderr.write(lines(['No trace of this correlationId.', ...searchedText(wide.findings)]))
  if (more) process.stderr.write(`More than ${mostIds} messages have it; these are ${mostIds} of them.\n`)
  let found = false
  for (const one of ids) found = (await tellOf(one)) || found
  return found
}

/** @returns whether anything was found */
async function show(story: Story, { json }: Options): Promise<boolean> {
  const { accounts, events, conclusions } = story
  if (json) {
    for (const line of storyLines(story)) await printLine(jsonText(line))
    return story.found
  }
  for (const event of events) await print(lineOfEvent(event))
  for (const { account, text } of conclusions) {
    await print(accounts.length > 1 ? `Account ${account}: ${text}` : text)
  }
  process.stderr.write(lines(searchedText(story)))
  return story.found
}

function lineOfEvent({ time: at, kind, place, text }: Event): string {
  return [timeText(at), kind.padEnd(11), place, text].join('  ')
}

const print = (line: string) => printLine(printable(line))
const lines = (texts: readonly string[]) => texts.map(text => `${printable(text)}\n`).join('')
