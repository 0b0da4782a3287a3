import { openBus } from '../../bus/open.ts'
import type { Bus } from '../../bus/port.ts'
import { requireGateway, type Settings } from '../../config/index.ts'
import { stringifyJson } from '../../protocol/index.ts'
import { registryOf } from '../../records/open.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { command, idFlag, sinceFlag, text, toggle } from '../command.ts'
import { lineOf } from '../gateway/output.ts'
import { conclusionOf } from '../message/conclusion.ts'
import type { Evidence } from '../message/evidence.ts'
import { MessageSearch } from '../message/search.ts'
import { type Event, searchedText, storyOf, time } from '../message/story.ts'
import { printLine } from '../print.ts'
import { printable } from '../printable.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'
import { untilSignal } from '../signals.ts'
import { UsageError } from '../usage-error.ts'

const weekMs = 7 * 24 * 3_600_000
/** More would be a list, which tail is for. */
const mostIds = 20

interface Options {
  id?: bigint
  'correlation-id'?: string
  tenant?: string
  account?: string
  since?: number
  ask?: true
  show?: true
  json?: true
}

export const message = command({
  about: [
    'Shows what became of a message, in the order of time: its command, doubts, results, status events, dead letter; and',
    'in the end, in plain words, what that comes to and what to do. Says what it has searched.',
    'Texts, phones, codes and replies are shown as *** unless --show is given.',
    '',
    'Exits 0 when something was found, 1 when there is no trace.',
  ].join('\n'),
  flags: {
    id: { ...idFlag('The id of the command.'), bare: true as const },
    'correlation-id': text(
      'TEXT',
      'Instead of the id: all messages that carry this correlationId. Looks through everything.',
    ),
    tenant: text('NAME', 'Only messages of this tenant.'),
    account: text('NAME', 'Only messages of this account: ids are unique within one.'),
    since: sinceFlag('How far back to look: so long ago (12h, 7d), or a date. Default: 7d.'),
    ask: toggle('Asks the gateway for its status, too.'),
    show: toggle('Shows texts, phones, codes and replies. Mind who is looking.'),
    json: toggle('Prints one JSON object a line.'),
    config: configFlag,
  },
  async run({ config, ...options }) {
    const settings = settingsWithBrokers(config)
    const ending = new AbortController()
    const interrupted = untilSignal().then(() => {
      ending.abort()
      return 130
    })
    const bus = openBus(settings, new Telemetry())
    try {
      const lookedUp = lookUp(bus, settings, options, ending.signal).then(found => (found ? 0 : 1))
      return await Promise.race([lookedUp, interrupted])
    } finally {
      await bus.close()
    }
  },
})

async function lookUp(bus: Bus, settings: Settings, options: Options, ending: AbortSignal): Promise<boolean> {
  const { id, 'correlation-id': correlationId, since = Date.now() - weekMs } = options
  if ((id === undefined) === (correlationId === undefined)) {
    throw new UsageError('message needs an ID, or --correlation-id')
  }
  const search = () => new MessageSearch({ bus, registry: registryOf(settings), settings, since, ending })
  const tellOf = async (one: bigint) => {
    const evidence = await search().byId(one)
    ending.throwIfAborted() // a part of it would tell another story
    return tell(evidence, one, settings, options)
  }
  if (id !== undefined) return tellOf(id)
  const wide = search()
  const ids = await wide.idsOf(correlationId!)
  ending.throwIfAborted()
  if (ids.length === 0) process.stderr.write(lines(['No trace of this correlationId.', ...searchedText(wide.evidence)]))
  if (ids.length > mostIds) process.stderr.write(`${ids.length} messages carry it; these are the first ${mostIds}.\n`)
  let found = false
  for (const one of ids.slice(0, mostIds)) found = (await tellOf(one)) || found
  return found
}

/** @returns whether there was something to tell */
async function tell(all: Evidence, id: bigint, settings: Settings, options: Options): Promise<boolean> {
  const { show = false, json = false, ask = false } = options
  const evidence = only(all, options)
  const accounts = accountsOf(evidence)
  const events = storyOf(evidence, show)
  const found = events.length > 0
  if (ask) {
    for (const account of accounts.length > 0 ? accounts : [options.account ?? 'default']) {
      events.push(await asked(settings, id, account))
    }
  }
  const conclusions = accounts.map(account => ({ account, text: conclusionOf(evidence, id, account) }))
  if (conclusions.length === 0) conclusions.push({ account: '', text: withoutAccount(evidence, id) })
  for (const event of events)
    await print(json ? stringifyJson({ ...event, time: time(event.time) }) : lineOfEvent(event))
  for (const { account, text } of conclusions) {
    const several = accounts.length > 1 ? `Account ${account}: ` : ''
    await print(json ? stringifyJson({ kind: 'conclusion', id, account, text }) : `${several}${text}`)
  }
  if (json) await print(stringifyJson({ kind: 'searched', logs: evidence.searched, gaps: evidence.gaps }))
  else process.stderr.write(lines(searchedText(evidence)))
  return found
}

function withoutAccount(evidence: Evidence, id: bigint): string {
  if (evidence.letters.length > 0) return conclusionOf(evidence, id, '')
  return `No trace of ${id} in what was searched. Is the id right, and did its producer write to these brokers? --since 30d looks further back.`
}

/** Dead letters tell neither account nor tenant. */
function only(evidence: Evidence, { account, tenant }: Options): Evidence {
  const fits = (value: { account: string; tenant: string | null }) =>
    (account === undefined || value.account === account) && (tenant === undefined || value.tenant === tenant)
  return {
    ...evidence,
    commands: evidence.commands.filter(({ value }) => fits(value.command)),
    results: evidence.results.filter(({ value }) => fits(value)),
    statuses: evidence.statuses.filter(({ value }) => fits(value)),
    doubts: evidence.doubts.filter(({ value }) => fits(value)),
  }
}

function accountsOf({ commands, results, statuses, doubts }: Evidence): string[] {
  const named = [...results, ...statuses, ...doubts].map(({ value }) => value.account)
  return [...new Set([...commands.map(({ value }) => value.command.account), ...named])].sort()
}

async function asked(settings: Settings, id: bigint, account: string): Promise<Event> {
  requireGateway(settings)
  const { url, ssl, timeoutMs, errorTexts, accounts } = settings.gateway
  const apiKey = accounts.get(account)?.apiKey
  const event = { kind: 'gateway' as const, place: null }
  if (!apiKey) {
    const text = `gateway.accounts has no ${account} here, so it could not be asked`
    return { ...event, time: Date.now(), text, detail: null }
  }
  const { GatewayClient } = await import('../../gateway/client.ts') // its HTTP client takes long to load
  const client = new GatewayClient({ url, apiKey, ca: ssl.ca, timeoutMs, errorTexts })
  try {
    const status = await client.status({ id })
    return { ...event, time: Date.now(), text: lineOf(status), detail: status }
  } catch (error) {
    return { ...event, time: Date.now(), text: `it answers: ${(error as Error).message}`, detail: null }
  } finally {
    await client.close()
  }
}

function lineOfEvent({ time: at, kind, place, text }: Event): string {
  return [time(at), kind.padEnd(11), place, text].filter(Boolean).join('  ')
}

const print = (line: string) => printLine(printable(line))
const lines = (texts: readonly string[]) => texts.map(text => `${printable(text)}\n`).join('')
