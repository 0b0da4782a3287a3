import { hostname, userInfo } from 'node:os'
import { openBus } from '../../bus/open.ts'
import { allPartitions, partitionsOf } from '../../bus/partitions.ts'
import type { Bus } from '../../bus/port.ts'
import { unpackCheckpoint } from '../../bus/session/checkpoint.ts'
import type { Committed } from '../../bus/session/driver.ts'
import { DONE, windowSize } from '../../bus/session/window.ts'
import type { Settings } from '../../config/index.ts'
import { type ControlTopic, readChanges } from '../../inspect/pauses.ts'
import { type Change, keyOf, pauseText, type Scope, writeChange } from '../../pauses/change.ts'
import { stringifyJson } from '../../protocol/index.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { pauseKinds } from '../../telemetry/labels.ts'
import { count } from '../../words.ts'
import { command, textFlag, toggle, UsageError, untilFlag } from '../framework/command.ts'
import { printable, printLine } from '../framework/terminal.ts'
import { configFlag, settingsWithBrokers, unknownAccount } from '../settings.ts'

const scopeFlags = {
  account: textFlag('NAME', 'All commands of an account.'),
  topic: textFlag('NAME', 'All commands of a topic: the urgent ones, or the bulk.'),
  tenant: textFlag('NAME', 'All commands of a tenant, of whatever account.'),
}
const by = textFlag('NAME', 'Who does it, for those who look later. Default: the user of this machine.')

export const pause = command({
  about: [
    'Stops sending the commands of an account, a topic or a tenant, on the whole fleet and within two seconds, until it is',
    'resumed. What the gateway has already is finished; the rest waits, and its deadlines go on. Restarts change nothing.',
  ].join('\n'),
  flags: {
    ...scopeFlags,
    until: untilFlag('Resumes by itself after so long (30m, 12h, 7d), or at a date.'),
    reason: textFlag('TEXT', 'Shown to whoever asks. No phone and no text of a message, please: it is logged.'),
    by,
    config: configFlag,
  },
  run: ({ until = null, reason = null, by = ourselves(), config, ...names }) =>
    onControl(config, async ({ settings, inForce, write }) => {
      const scope = scopeOf(names)
      requireKnown(scope, settings)
      const before = inForce.find(one => keyOf(one) === keyOf(scope))
      await write({ ...scope, paused: true, by, at: Date.now(), until, reason })
      const resume = `busgate resume --${scope.kind} ${scope.name}`
      const end = until === null ? 'until it is resumed' : `until ${new Date(until).toISOString()}`
      const instead = before ? ` It was paused before: ${pauseText(before)}.` : ''
      say(`${nameOf(scope)} is paused ${end}.${instead} To let it go on: ${resume}`)
      return 0
    }),
})

export const resume = command({
  about: 'Lets an account, a topic or a tenant go on that was paused, within two seconds.',
  flags: { ...scopeFlags, all: toggle('All that is paused.'), by, config: configFlag },
  run: ({ all = false, by = ourselves(), config, ...names }) =>
    onControl(config, async ({ inForce: paused, write }) => {
      const wanted = all ? paused : paused.filter(one => keyOf(one) === keyOf(scopeOf(names)))
      if (wanted.length === 0 && !all) {
        const others = paused.length > 0 ? `paused are: ${paused.map(nameOf).join(', ')}` : 'nothing is'
        throw new UsageError(`${nameOf(scopeOf(names))} is not paused; ${others}`)
      }
      for (const { kind, name } of wanted) {
        await write({ kind, name, paused: false, by, at: Date.now(), until: null, reason: null })
        say(`${nameOf({ kind, name })} goes on.`)
      }
      if (wanted.length === 0) say('Nothing is paused.')
      return 0
    }),
})

export const status = command({
  about: [
    'Shows what is paused, by whom and why, and how many commands of each topic are not done yet.',
    'With --history who paused and resumed what before, as far back as the control topic tells.',
  ].join('\n'),
  flags: {
    history: toggle('Shows each change, the newest at the end.'),
    json: toggle('Prints one JSON object a line.'),
    config: configFlag,
  },
  run: ({ history = false, json = false, config }) =>
    onControl(config, async ({ settings, bus, changes, inForce }) => {
      const shown = history ? changes : inForce
      for (const change of shown) await printLine(printable(json ? jsonOf(change) : lineOf(change)))
      if (!json && !history && shown.length === 0) await printLine('Nothing is paused.')
      for (const backlog of await backlogOf(bus, settings)) {
        await printLine(json ? stringifyJson(backlog) : backlogText(backlog))
      }
      return 0
    }),
})

interface Control extends ControlTopic {
  settings: Settings
  bus: Bus
  write(change: Change): Promise<void>
}

async function onControl(config: string | undefined, work: (control: Control) => Promise<number>): Promise<number> {
  const settings = settingsWithBrokers(config)
  const bus = openBus(settings, new Telemetry())
  const topic = settings.topics.control
  const write = async (change: Change) => {
    const publisher = await bus.publisher()
    await publisher.publish([writeChange(topic, change)])
    await publisher.close()
  }
  try {
    return await work({ settings, bus, ...(await readChanges(bus, topic)), write })
  } finally {
    await bus.close()
  }
}

function scopeOf(names: Partial<Record<Scope['kind'], string>>): Scope {
  const given = pauseKinds.flatMap(kind => (names[kind] === undefined ? [] : [{ kind, name: names[kind] }]))
  const [scope, ...others] = given
  if (!scope || others.length > 0) throw new UsageError('name one of --account NAME, --topic NAME, --tenant NAME')
  if (scope.name === '') throw new UsageError(`--${scope.kind} needs a name`)
  return scope
}

/** A pause of what does not exist would stop nothing. The settings may know no account: then any name is good. */
function requireKnown({ kind, name }: Scope, { gateway, topics }: Settings): void {
  const accounts = [...gateway.accounts.keys()]
  if (kind === 'account' && accounts.length > 0 && !accounts.includes(name)) throw unknownAccount(name, accounts)
  if (kind === 'topic' && !topics.commands.includes(name)) {
    throw new UsageError(`--topic: commands come from ${topics.commands.join(', ')}, and from no ${name}`)
  }
}

function backlogText({ topic, commands, deleted }: UndoneCommands): string {
  const gone = `, ${deleted} of them deleted from the log: only a worker that has them in memory can send them`
  return `${topic}: ${count(commands, 'command')} not done yet${deleted > 0 ? gone : ''}`
}

const nameOf = ({ kind, name }: Scope) => `${kind} ${name}`
const say = (sentence: string) => process.stderr.write(`${printable(sentence)}\n`)
const instant = (ms: number) => new Date(ms).toISOString()

function lineOf(change: Change): string {
  if (change.paused) return pauseText(change)
  return `${nameOf(change)} was resumed by ${change.by} at ${instant(change.at)}`
}

function jsonOf({ at, until, ...change }: Change): string {
  return stringifyJson({ ...change, at: instant(at), until: until === null ? null : instant(until) })
}

/** A container may run as a user that has no name. */
function ourselves(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`
  }
}

/** How many offsets of a partition are not done yet, by what the group has committed. */
interface Undone {
  offsets: number
  /** Those of them that are gone from the log: only a worker that runs may have them in memory. */
  deleted: number
}

/** @param log the first offset that the log holds, and the one after its last. @throws Error where the progress is not busgate's */
function undoneOf(committed: Committed | null, { low, high }: { low: number; high: number }): Undone {
  if (!committed) return { offsets: high - low, deleted: 0 }
  const { window } = unpackCheckpoint(committed.offset, committed.metadata)
  const known = Math.min(Math.max(window.base + window.length, low), window.base + windowSize)
  let offsets = Math.max(0, high - Math.max(low, known))
  let deleted = 0
  for (let offset = window.base; offset < known; offset++) {
    if (window.get(offset) === DONE) continue
    offsets++
    if (offset < low) deleted++
  }
  return { offsets, deleted }
}

interface UndoneCommands {
  topic: string
  /** They wait, or are on their way. */
  commands: number
  /** Those of them whose records are gone from the log: only a worker that runs may have them in memory. */
  deleted: number
}

/** Tells how many commands of each topic are not done, by the group's progress. */
async function backlogOf(bus: Bus, { kafka, topics }: Settings): Promise<UndoneCommands[]> {
  const counts = await partitionsOf(bus, topics.commands)
  const ending = AbortSignal.timeout(10_000)
  const backlog = async (topic: string) => {
    const tps = allPartitions(topic, counts.get(topic)!)
    const progress = await bus.progress(kafka.groupId, tps)
    const ends = await Promise.all(tps.map(tp => bus.search(tp, { from: 'latest', needles: [], ending })))
    const undone = ends.map(({ until, start }, i) => undoneOf(progress[i] ?? null, { low: start, high: until }))
    const sum = (of: 'offsets' | 'deleted') => undone.reduce((total, one) => total + one[of], 0)
    return { topic, commands: sum('offsets'), deleted: sum('deleted') }
  }
  return Promise.all(topics.commands.map(backlog))
}
