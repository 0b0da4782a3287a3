import { allPartitions, partitionsOf } from '../../bus/partitions.ts'
import type { Bus, BusRecord, TopicPartition } from '../../bus/port.ts'
import { windowSize } from '../../bus/session/window.ts'
import { skewMs, sleep, systemClock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import { keyOf, nameOf, type Withdrawal } from '../../control/change.ts'
import { type Deed, deedText, readHistory } from '../../control/history.ts'
import { readControl } from '../../control/read.ts'
import { readHeldBack } from '../../fleet/held-back.ts'
import { stopsCommands } from '../../fleet/holds.ts'
import { RecordReader, UndecodableRecords } from '../../inspect/decoding.ts'
import { countOpenDoubts, isDone, type Progress, readOwnProgress } from '../../inspect/progress.ts'
import { type HourOfWaiting, WaitingHours } from '../../inspect/waiting.ts'
import type { SendResult } from '../../records/generated.ts'
import { registryOf } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'
import { count, cut, grouped, timeText } from '../../words.ts'
import { command, toggle } from '../framework/command.ts'
import { jsonText, printable, printLine, say } from '../framework/terminal.ts'
import { fleetJson, fleetLines, holdJson, holdLine, ratePerSecond } from '../held-back.ts'
import { onBus } from '../on-bus.ts'
import { configFlag } from '../settings.ts'

export const status = command({
  about: [
    'Shows what holds commands back and since when: accounts, partitions without a worker, schemas, pauses and withdrawals, by',
    'whom and why. Then how many commands of each topic are unfinished, how many messages are in doubt (perhaps sent, without a',
    'final result), which processes run, and how many commands wait for their time or a paused campaign, by hour and campaign.',
    'With --history it shows who paused, resumed, withdrew and replayed what, when and why, for as long as results are',
    'kept: the newest 10,000. With --results, too, what each of these withdrawals ended.',
    '',
    'With --exit-code it exits 3 if something is held back, and 1 if that is unknown.',
  ].join('\n'),
  flags: {
    history: toggle('Shows what people did, the newest last.'),
    results: toggle(
      'Counts the results of withdrawn messages by outcome: how many were sent before, and how many were not.',
    ),
    watch: toggle('Shows the state again every two seconds, until Ctrl-C.'),
    'exit-code': toggle('Exits 3 if something is held back.'),
    json: toggle('Prints one JSON object per line.'),
    config: configFlag,
  },
  run: ({ config, watch = false, ...options }) =>
    onBus(config, async (bus, settings, ending) => {
      const waiting = new WaitingHours(bus, settings)
      let code = await show(bus, settings, waiting, options, ending)
      while (watch && !ending.aborted) {
        await sleep(systemClock, watchMs, ending)
        if (process.stdout.isTTY && !options.json) process.stdout.write(clearScreen)
        code = await show(bus, settings, waiting, options, ending).catch((error: Error) => {
          say(error.message) // an outage must not end the watch
          return 1
        })
      }
      return code
    }),
})

const watchMs = 2_000
/** Moves the cursor home, and clears what follows it. */
const clearScreen = '\x1b[H\x1b[J'
/** Exit code if something is held back. */
const heldBackCode = 3

interface Options {
  history?: true
  results?: true
  'exit-code'?: true
  json?: true
}

/** @returns the exit code */
async function show(
  bus: Bus,
  settings: Settings,
  waiting: WaitingHours,
  options: Options,
  ending: AbortSignal,
): Promise<number> {
  const { history = false, results = false, json = false } = options
  const { inForce, overfull } = await readControl(bus, settings, ending)
  const { deeds, foreign } = history ? await readHistory(bus, settings, ending) : { deeds: inForce, foreign: 0 }
  const held = await readHeldBack(bus, settings, ending).catch((error: Error) => error)
  const isKnown = !(held instanceof Error)
  const { fleet, holds } = isKnown ? held : { fleet: null, holds: [] }
  const isPaused = inForce.some(({ effect }) => effect === 'paused')
  const isHeldBack = holds.some(stopsCommands) || isPaused || overfull !== null

  if (held instanceof Error) say(`What else holds commands back is unknown: ${held.message}`)
  if (overfull !== null) say(`${settings.topics.control}: ${overfull}`)
  for (const hold of holds) await printLine(json ? holdJson(hold) : holdLine(hold))
  for (const deed of deeds) await printLine(json ? jsonOf(deed) : printable(deedText(deed)))
  if (foreign > 0) say(`${settings.topics.history}: ${count(foreign, 'record')} that busgate did not write.`)
  if (!json && isKnown && !isHeldBack) await printLine('Nothing is held back.')
  if (results) await showResults(bus, settings, spansOf(deeds), json)
  for (const backlog of await backlogOf(bus, settings)) {
    const lane = { ...backlog, perSecond: fleet && ratePerSecond(fleet, backlog.topic) }
    await printLine(json ? jsonText(lane) : laneText(lane))
  }
  const { doubts: topic } = settings.topics
  const inDoubt = await countOpenDoubts(bus, settings)
  await printLine(json ? jsonText({ topic, inDoubt }) : `${topic}: ${count(inDoubt, 'message')} in doubt`)
  for (const line of fleet ? (json ? fleetJson : fleetLines)(fleet) : []) await printLine(line)
  await showWaiting(waiting, settings.topics.later, json, ending)
  if (!options['exit-code']) return 0
  return isHeldBack ? heldBackCode : isKnown ? 0 : 1
}

async function showResults(bus: Bus, settings: Settings, spans: WithdrawalSpan[], json: boolean): Promise<void> {
  const counts = await countResults(bus, settings, spans)
  if (!json && counts.length === 0) await printLine('There is no withdrawal whose results to count.')
  for (const counted of counts) await printLine(json ? jsonText(counted) : printable(resultsText(counted)))
}

/** Last, as the whole table is read at first. */
async function showWaiting(waiting: WaitingHours, topic: string, json: boolean, ending: AbortSignal): Promise<void> {
  const hours = await waiting.look(ending)
  if (hours === null) say(`There is no topic ${topic}: create it with busgate topics create.`)
  if (json) for (const one of hours ?? []) await printLine(jsonText(jsonOfWaiting(topic, one)))
  if (json || hours === null) return
  const sum = hours.reduce((sum, { commands }) => sum + commands, 0)
  await printLine(`${topic}: ${sum === 1 ? '1 command waits' : `${grouped(sum)} commands wait`}`)
  for (const one of hours.slice(0, mostHours)) await printLine(printable(`  ${waitingText(one)}`))
  if (hours.length > mostHours) await printLine(`  … ${hours.length - mostHours} more lines: --json prints all`)
}

const mostHours = 50

function waitingText({ hour, campaign, commands }: HourOfWaiting): string {
  const of = campaign === null ? 'no campaign' : campaign === undefined ? 'other campaigns' : `campaign ${campaign}`
  const when = hour === null ? 'due or paused' : `in the hour from ${timeText(hour)}`
  return `${when}: ${grouped(commands)} of ${of}`
}

const jsonOfWaiting = (topic: string, { hour, campaign, commands }: HourOfWaiting) => ({
  ...{ topic, waiting: commands, hour: hour === null ? null : timeText(hour) },
  ...(campaign === undefined ? { otherCampaigns: true } : { campaign }),
})

function jsonOf(deed: Deed): string {
  const at = timeText(deed.at)
  if (deed.effect === 'replayed') {
    const { name, letters, by, reason } = deed
    return jsonText({ kind: 'dead_letters', name, replayed: letters, by, reason, at })
  }
  const { effect, begins, kind, name, until, at: _, ...rest } = deed
  return jsonText({ kind, name, [effect]: begins, ...rest, at, until: until === null ? null : timeText(until) })
}

interface UnfinishedCommands {
  topic: string
  /** Queued or in flight. */
  commands: number
  /** Number of them whose records the log lost; only a running worker may have them in memory. */
  deleted: number
}

/** Unfinished offsets of a partition, by the group's checkpoint. */
function unfinishedOf(progress: Progress | undefined, { low, high }: { low: number; high: number }) {
  if (!progress) return { commands: high - low, deleted: 0 }
  const { window } = progress
  const known = Math.min(Math.max(window.base + window.length, low), window.base + windowSize)
  let commands = Math.max(0, high - Math.max(low, known))
  let deleted = 0
  for (let offset = window.base; offset < known; offset++) {
    if (isDone(progress, offset)) continue
    commands++
    if (offset < low) deleted++
  }
  return { commands, deleted }
}

/** Unfinished commands of each topic. @throws Error when the group's metadata is not busgate's */
async function backlogOf(bus: Bus, settings: Settings): Promise<UnfinishedCommands[]> {
  const { commands } = settings.topics
  const counts = await partitionsOf(bus, commands)
  const ending = AbortSignal.timeout(10_000)
  const backlog = async (topic: string) => {
    const tps = allPartitions(topic, counts.get(topic)!)
    const progress = await readOwnProgress(bus, settings, tps)
    const ends = await Promise.all(
      tps.map(tp => bus.search(tp, { from: 'latest', needles: [], ending, take: async () => {} })),
    )
    const unfinished = ends.map(({ until, start }, i) => unfinishedOf(progress[i], { low: start, high: until }))
    const sum = (of: 'commands' | 'deleted') => unfinished.reduce((total, one) => total + one[of], 0)
    return { topic, commands: sum('commands'), deleted: sum('deleted') }
  }
  return Promise.all(commands.map(backlog))
}

function laneText({ topic, commands, deleted, perSecond }: UnfinishedCommands & { perSecond: number | null }): string {
  const gone = `, ${deleted} of them deleted from the log: only a worker that has them in memory can still send them`
  const rate = perSecond === null ? '' : `, ${perSecond} a second are finished`
  return `${topic}: ${count(commands, 'command')} unfinished${rate}${deleted > 0 ? gone : ''}`
}

/** Final results of a withdrawal's messages. For a single message, use `busgate message`. */
interface CountedResults {
  withdrawn: string
  /** Start of the counted results, ISO 8601. Older commands had expired before the withdrawal. */
  since: string
  sent: number
  notSent: number
  /** Perhaps sent; not sent again. */
  unresolved: number
  /** Number of unsent messages by errorCode or outcome; further codes count as `other`. */
  codes: Record<string, number>
}

/** A withdrawal, and when the next change of its scope came, milliseconds since 1970. */
interface WithdrawalSpan {
  withdrawal: Withdrawal
  endedAt: number
}

/** The withdrawals among deeds, the oldest first. For a single message, `busgate message` says more. */
function spansOf(deeds: readonly Deed[]): WithdrawalSpan[] {
  const changes = deeds.filter((deed): deed is Withdrawal => deed.effect === 'withdrawn' && deed.kind !== 'message')
  return changes.flatMap((withdrawal, i) => {
    const next = changes.slice(i + 1).find(one => keyOf(one) === keyOf(withdrawal))
    return withdrawal.begins ? [{ withdrawal, endedAt: next?.at ?? Number.POSITIVE_INFINITY }] : []
  })
}

/** Whether the result belongs to the withdrawal, and not to another one of the same name. */
function isOf({ withdrawal: { kind, name, at }, endedAt }: WithdrawalSpan, since: number, result: SendResult): boolean {
  const { campaign, tenant, correlationId, completedAt, errorCode } = result
  const first = errorCode === 'WITHDRAWN' ? at - skewMs : since
  if (kind === 'message' || completedAt < first || completedAt >= endedAt) return false
  return { campaign, tenant, correlation_id: correlationId }[kind] === name
}

/** Counts the results of withdrawn messages. */
async function countResults(bus: Bus, settings: Settings, spans: readonly WithdrawalSpan[]): Promise<CountedResults[]> {
  if (spans.length === 0) return []
  const { results } = settings.topics
  const counts = spans.map(span => {
    const { withdrawal } = span
    const since = Math.max(0, withdrawal.at - settings.commands.maxAgeMs)
    const counted: CountedResults = {
      withdrawn: nameOf(withdrawal),
      since: timeText(since),
      sent: 0,
      notSent: 0,
      unresolved: 0,
      codes: Object.create(null), // a code may have any name
    }
    return { span, since, counted }
  })
  const undecodable = new UndecodableRecords()
  const reader = new RecordReader<SendResult>(schemas.result, registryOf(settings), undecodable)
  const takeFrom = (tp: TopicPartition) => (records: readonly BusRecord[]) =>
    reader.each(tp, records, result => {
      if (!result.final) return
      for (const { span, since, counted } of counts) {
        if (isOf(span, since, result)) add(counted, result)
      }
    })
  const names = new Set(spans.map(({ withdrawal }) => withdrawal.name))
  const needles = Array.from(names, name => ({ bytes: Buffer.from(name) }))
  const ending = AbortSignal.timeout(longestMs)
  const from = Math.min(...counts.map(({ since }) => since))
  const partitions = (await partitionsOf(bus, [results])).get(results)!
  const tps = allPartitions(results, partitions)
  await Promise.all(tps.map(tp => bus.search(tp, { from, needles, ending, take: takeFrom(tp) })))
  undecodable.texts.forEach(say)
  return counts.map(({ counted }) => counted)
}

const longestMs = 10 * 60_000
const mostCodes = 100
const longestCode = 100

function add(counted: CountedResults, { outcome, errorCode }: SendResult): void {
  if (outcome === 'SENT') counted.sent++
  else if (outcome === 'UNRESOLVED') counted.unresolved++
  else {
    const code = cut(errorCode ?? outcome, longestCode)
    const name = code in counted.codes || Object.keys(counted.codes).length < mostCodes ? code : 'other'
    counted.notSent++
    counted.codes[name] = (counted.codes[name] ?? 0) + 1
  }
}

function resultsText({ withdrawn, since, sent, notSent, unresolved, codes }: CountedResults): string {
  const why = Object.entries(codes).map(([code, count]) => `${count} ${code}`)
  const reasons = why.length > 0 ? ` (${why.join(', ')})` : ''
  return `${withdrawn}, results since ${since}: ${sent} sent, ${notSent} not sent${reasons}, ${unresolved} unresolved`
}
