import { hostname, userInfo } from 'node:os'
import type { Bus, OutgoingRecord } from '../../bus/port.ts'
import { NEW } from '../../bus/session/window.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import {
  type Change,
  changeText,
  keyOf,
  longestText,
  nameOf,
  type Scope,
  type Withdrawn,
  writeChange,
} from '../../control/change.ts'
import { Controls, type Sendable } from '../../control/controls.ts'
import { historyOf } from '../../control/history.ts'
import { type ControlTopic, readControl } from '../../control/read.ts'
import { recordsOf, usualWithdrawalMs, withdrawnBy } from '../../control/withdraw.ts'
import { writeAndReadBack } from '../../control/write.ts'
import { RecordReader, UndecodableRecords } from '../../inspect/decoding.ts'
import { searchUnfinished } from '../../inspect/progress.ts'
import { WaitingCount } from '../../inspect/waiting.ts'
import type { SendCommand } from '../../records/generated.ts'
import { copiedFrom } from '../../records/later.ts'
import { registryOf } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'
import { shellFlag } from '../../shell.ts'
import { pausableKinds } from '../../vocabulary/control.ts'
import { count, span, timeText } from '../../words.ts'
import { command, type Flag, type FlagValues, idFlag, textFlag, toggle, UsageError } from '../framework/command.ts'
import { say } from '../framework/terminal.ts'
import { untilFlag } from '../framework/times.ts'
import { onBus } from '../on-bus.ts'
import { configFlag, requireAccount } from '../settings.ts'

export interface Control extends ControlTopic {
  settings: Settings
  bus: Bus
  ending: AbortSignal
  /** Writes changes, and keeps them in the history. @throws Error when workers may not see them */
  write(records: OutgoingRecord[]): Promise<void>
}

/** Reads the control topic and runs `work` with it. @returns the exit code */
export function onControl(config: string | undefined, work: (control: Control) => Promise<number>): Promise<number> {
  return onBus(config, async (bus, settings, ending) => {
    const write = async (records: OutgoingRecord[]) => {
      await writeAndReadBack(bus, settings.topics.control, records)
      await keepInHistory(bus, settings, historyOf(settings.topics.history, records))
    }
    return work({ settings, bus, ending, ...(await readControl(bus, settings, ending)), write })
  })
}

/** An emergency must not wait for the history: what it lacks is only said. */
export async function keepInHistory(bus: Bus, { topics }: Settings, records: OutgoingRecord[]): Promise<void> {
  const missing = `${topics.history} does not have it, for busgate status --history`
  if ((await bus.lookAt(topics.history)) === null) {
    say(`${missing}: create the topic with busgate topics create.`)
    return
  }
  const publisher = await bus.publisher()
  try {
    await publisher.publish(records)
  } catch (error) {
    say(`${missing}: ${(error as Error).message}`)
  } finally {
    await publisher.close()
  }
}

export const byFlag = textFlag('NAME', 'Your name, shown with the change. Default: the user name on this machine.')

/** The name of this user. A container may run as a user without a name. */
export function ourselves(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`
  }
}

const scopeFlags = {
  account: textFlag('NAME', 'All commands of an account.'),
  topic: textFlag('NAME', 'All commands of a topic.'),
  campaign: textFlag('NAME', 'All commands of a campaign, in all accounts.'),
  tenant: textFlag('NAME', 'All commands of a tenant, in all accounts.'),
}

/** A text that says why. */
export function reasonFlag(help: string): Flag<string> {
  const read = (given: string) => {
    if (given.trim() !== '' && given.length <= longestText) return given
    throw new UsageError(`expected why, in 1 to ${longestText} characters`)
  }
  return { value: 'TEXT', help: `${help} Use no phone and no text of a message.`, read }
}

export const pause = command({
  about: [
    'Stops sending the commands of an account, a topic, a campaign or a tenant within two seconds, on all workers, until it',
    'is resumed. Requests in flight finish; other commands wait, and their deadlines continue. The pause survives restarts.',
  ].join('\n'),
  flags: {
    ...scopeFlags,
    until: untilFlag('Resumes by itself then.'),
    reason: reasonFlag('Why. Required; busgate status and the log say it.'),
    by: byFlag,
    config: configFlag,
  },
  async run({ until = null, reason, by = ourselves(), config, ...names }) {
    const scope = pauseOf(names)
    if (reason === undefined) throw new UsageError('--reason TEXT is missing: busgate status and the log say why')
    return onControl(config, async ({ settings, inForce, write }) => {
      requireKnown(scope, settings)
      const before = inForce.find(one => keyOf(one) === keyOf(scope))
      await write([writeChange(settings.topics.control, { ...scope, begins: true, by, at: Date.now(), until, reason })])
      const resume = `busgate resume ${shellFlag(scope.kind, scope.name)}`
      const end = until === null ? 'until it is resumed' : timeText(until, 'until')
      const instead = before ? ` It was already paused: ${changeText(before)}.` : ''
      const isUnchecked = scope.kind === 'account' && settings.gateway.accounts.size === 0
      const unchecked = isUnchecked ? ' The settings here name no accounts, so the name was not checked.' : ''
      say(`${nameOf(scope)} is paused ${end}.${instead}${unchecked} To resume: ${resume}`)
      return 0
    })
  },
})

export const resume = command({
  about: 'Resumes sending for an account, a topic, a campaign or a tenant within two seconds.',
  flags: { ...scopeFlags, all: toggle('Resumes everything that is paused.'), by: byFlag, config: configFlag },
  run: ({ all = false, by = ourselves(), config, ...names }) =>
    onControl(config, async ({ settings, inForce, write }) => {
      const paused = inForce.filter(isPause)
      const wanted = all ? paused : paused.filter(one => keyOf(one) === keyOf(pauseOf(names)))
      if (wanted.length === 0 && !all) {
        const others = paused.length > 0 ? `paused are: ${paused.map(nameOf).join(', ')}` : 'nothing is'
        throw new UsageError(`${nameOf(pauseOf(names))} is not paused; ${others}${quietText(inForce)}`)
      }
      const ended = { begins: false, by, until: null, reason: null }
      for (const { effect, kind, name } of wanted) {
        const change = { effect, kind, name, ...ended, at: Date.now() }
        await write([writeChange(settings.topics.control, change)])
        say(`${nameOf(change)} is resumed.`)
      }
      if (wanted.length === 0) say(`No operator has paused anything${quietText(inForce)}.`)
      return 0
    }),
})

type PausedByHand = Scope & { effect: 'paused'; kind: (typeof pausableKinds)[number] }

/** Whether `resume` can end it; quiet hours end by themselves or by the settings. */
const isPause = <T extends Scope>(scope: T): scope is T & PausedByHand =>
  scope.effect === 'paused' && scope.kind !== 'quiet_hours'

/** Names the quiet hours in force: `status` shows them like pauses. */
function quietText(inForce: readonly Change[]): string {
  const quiet = inForce.filter(({ kind }) => kind === 'quiet_hours').map(({ name }) => name)
  return quiet.length === 0 ? '' : `; quiet hours of account ${quiet.join(', ')} continue: resume does not end them`
}

function pauseOf(names: Partial<Record<PausedByHand['kind'], string>>): PausedByHand {
  const given = pausableKinds.flatMap(kind =>
    names[kind] === undefined ? [] : [{ effect: 'paused' as const, kind, name: names[kind] }],
  )
  const [scope, ...others] = given
  if (!scope || others.length > 0)
    throw new UsageError('name one of --account NAME, --topic NAME, --campaign NAME, --tenant NAME')
  if (scope.name === '') throw new UsageError(`--${scope.kind} needs a name`)
  return scope
}

/** Refuses names that do not exist, since such a pause would stop nothing. */
function requireKnown({ kind, name }: PausedByHand, settings: Settings): void {
  if (kind === 'account') requireAccount(name, settings)
  const { commands } = settings.topics
  if (kind === 'topic' && !commands.includes(name)) {
    throw new UsageError(`--topic: ${name} is not a command topic; the command topics are ${commands.join(', ')}`)
  }
}

const withdrawalFlags = {
  campaign: textFlag('NAME', 'All messages of a campaign.'),
  id: idFlag('One message of --account.'),
  account: textFlag('NAME', 'The account of --id. Default: default.'),
  'correlation-id': textFlag('TEXT', 'All messages that carry this correlationId.'),
  tenant: textFlag('NAME', 'All messages of a tenant.'),
}

const irrevocable = 'A withdrawal ends messages for good.'

export const withdraw = command({
  about: [
    'Takes back messages that were not sent yet, within two seconds on all workers: each of their commands ends',
    'EXPIRED with errorCode WITHDRAWN. Commands written before the withdrawal ends are not sent either. Messages that',
    'the gateway has stay sent; doubts are resolved, but not sent again. The withdrawal survives restarts.',
    'Without --yes it only counts the commands that it would end now, and exits 2, as busgate dlq replay does.',
    'busgate status --results counts how many were sent and how many were not.',
  ].join('\n'),
  flags: {
    ...withdrawalFlags,
    until: untilFlag(`End of the withdrawal. Default: ${span(usualWithdrawalMs)}.`, '30d'),
    reason: reasonFlag('Why. Required with --yes; every result says it.'),
    yes: toggle('Withdraws. Without it, only counts the commands that it would end now.'),
    end: toggle('Ends the withdrawal: commands written from now on are sent. Results that exist stay.'),
    by: byFlag,
    config: configFlag,
  },
  async run({ end = false, yes = false, by = ourselves(), until, reason = null, config, ...names }) {
    const scope = withdrawalOf(names)
    if (yes && !end && reason === null) throw new UsageError('--reason TEXT is missing: every result says why')
    return onControl(config, async control => {
      const { settings, inForce, write } = control
      if (names.account !== undefined) requireAccount(names.account, settings)
      const { topics } = settings
      const at = Date.now()
      if (end) {
        if (!inForce.some(one => keyOf(one) === keyOf(scope))) throw new UsageError(`${nameOf(scope)} is not withdrawn`)
        await write([writeChange(topics.control, { ...scope, begins: false, by, at, until: null, reason: null })])
        say(`${nameOf(scope)} is no longer withdrawn: commands written from now on are sent.`)
        return 0
      }
      const change = { ...scope, begins: true, by, at, until: until ?? at + usualWithdrawalMs, reason }
      if (!yes) {
        say(`${nameOf(scope)}: ${count(await countEnded(control, change), 'unsent command')}.`)
        throw new UsageError(`nothing was withdrawn: --yes withdraws ${nameOf(scope)}. ${irrevocable}`)
      }
      await write(recordsOf(topics.control, change, control))
      say(
        `${nameOf(scope)} is withdrawn, for commands ${timeText(change.until, 'until')}. busgate status --results counts what was sent before.`,
      )
      return 0
    })
  },
})

/** Counts the unsent commands that the withdrawal would end. */
async function countEnded(control: Control, change: Change): Promise<number> {
  const controls = new Controls(control.settings, systemClock)
  controls.apply(change)
  const isEnded: IsEnded = (command, since) => controls.withdrawing(command, since) !== null
  try {
    return (await countUnsent(control, isEnded)) + (await countOnTable(control, isEnded))
  } finally {
    controls.close()
  }
}

type IsEnded = (command: Sendable, since: number) => boolean

async function countUnsent({ bus, settings }: Control, isEnded: IsEnded): Promise<number> {
  const undecodable = new UndecodableRecords()
  const reader = new RecordReader<SendCommand>(schemas.command, registryOf(settings), undecodable)
  let ended = 0
  await searchUnfinished(bus, settings, settings.topics.commands, (tp, records, progress) => {
    const unsent = records.filter(({ offset }) => !progress || progress.window.get(offset) === NEW)
    return reader.each(tp, unsent, (command, record) => {
      const since = copiedFrom(record)?.facts.since ?? record.timestamp
      if (isEnded({ ...command, idText: String(command.id) }, since)) ended++
    })
  })
  undecodable.texts.forEach(say)
  return ended
}

/** Counts those that wait for their time or for the end of a pause. */
async function countOnTable({ bus, settings, ending }: Control, isEnded: IsEnded): Promise<number> {
  const ended = { commands: 0 }
  const count = new WaitingCount(bus, settings, (facts, { id }) =>
    isEnded({ ...facts, idText: String(id) }, facts.since) ? ended : null,
  )
  await count.update(ending)
  return ended.commands
}

function withdrawalOf({ 'correlation-id': correlationId, ...names }: FlagValues<typeof withdrawalFlags>): Withdrawn {
  if (names.id === undefined && names.account !== undefined)
    throw new UsageError('--account goes with --id: pause stops an account')
  const scope = withdrawnBy({ ...names, correlationId })
  if (scope && scope.name !== '') return scope
  throw new UsageError('name one of --campaign NAME, --id ID, --correlation-id TEXT, --tenant NAME')
}
