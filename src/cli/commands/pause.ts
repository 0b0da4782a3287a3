import type { Settings } from '../../config/index.ts'
import { changeText, keyOf, nameOf, type Scope, writeChange } from '../../control/change.ts'
import { pausableKinds } from '../../telemetry/labels.ts'
import { byFlag as by, onControl, ourselves, say } from '../control/on-control.ts'
import { command, textFlag, toggle, UsageError, untilFlag } from '../framework/command.ts'
import { configFlag, unknownAccount } from '../settings.ts'

const scopeFlags = {
  account: textFlag('NAME', 'All commands of an account.'),
  topic: textFlag('NAME', 'All commands of a topic.'),
  tenant: textFlag('NAME', 'All commands of a tenant, in all accounts.'),
}

export const pause = command({
  about: [
    'Stops sending the commands of an account, a topic or a tenant within two seconds, on all workers, until it is',
    'resumed. Requests in flight finish; other commands wait, and their deadlines continue. The pause survives restarts.',
  ].join('\n'),
  flags: {
    ...scopeFlags,
    until: untilFlag('Resumes by itself after a duration (30m, 12h, 7d) or at a date.'),
    reason: textFlag('TEXT', 'Why; it is logged, so use no phone and no text of a message.'),
    by,
    config: configFlag,
  },
  run: ({ until = null, reason = null, by = ourselves(), config, ...names }) =>
    onControl(config, async ({ settings, inForce, write }) => {
      const scope = scopeOf(names)
      requireKnown(scope, settings)
      const before = inForce.find(one => keyOf(one) === keyOf(scope))
      await write([writeChange(settings.topics.control, { ...scope, begins: true, by, at: Date.now(), until, reason })])
      const resume = `busgate resume --${scope.kind} ${scope.name}`
      const end = until === null ? 'until it is resumed' : `until ${new Date(until).toISOString()}`
      const instead = before ? ` It was already paused: ${changeText(before)}.` : ''
      say(`${nameOf(scope)} is paused ${end}.${instead} To resume: ${resume}`)
      return 0
    }),
})

export const resume = command({
  about: 'Resumes sending for an account, a topic or a tenant within two seconds.',
  flags: { ...scopeFlags, all: toggle('All that is paused.'), by, config: configFlag },
  run: ({ all = false, by = ourselves(), config, ...names }) =>
    onControl(config, async ({ settings, inForce, write }) => {
      const paused = inForce.filter(isPause)
      const wanted = all ? paused : paused.filter(one => keyOf(one) === keyOf(scopeOf(names)))
      if (wanted.length === 0 && !all) {
        const others = paused.length > 0 ? `paused are: ${paused.map(nameOf).join(', ')}` : 'nothing is'
        throw new UsageError(`${nameOf(scopeOf(names))} is not paused; ${others}`)
      }
      const ended = { begins: false, by, until: null, reason: null }
      for (const { effect, kind, name } of wanted) {
        const change = { effect, kind, name, ...ended, at: Date.now() }
        await write([writeChange(settings.topics.control, change)])
        say(`${nameOf(change)} is resumed.`)
      }
      if (wanted.length === 0) say('Nothing is paused.')
      return 0
    }),
})

type PausedByHand = Scope & { effect: 'paused'; kind: (typeof pausableKinds)[number] }

/** Quiet hours end by themselves, or with the settings. */
const isPause = <T extends Scope>(scope: T): scope is T & PausedByHand =>
  scope.effect === 'paused' && scope.kind !== 'quiet_hours'

function scopeOf(names: Partial<Record<PausedByHand['kind'], string>>): PausedByHand {
  const given = pausableKinds.flatMap(kind =>
    names[kind] === undefined ? [] : [{ effect: 'paused' as const, kind, name: names[kind] }],
  )
  const [scope, ...others] = given
  if (!scope || others.length > 0) throw new UsageError('name one of --account NAME, --topic NAME, --tenant NAME')
  if (scope.name === '') throw new UsageError(`--${scope.kind} needs a name`)
  return scope
}

/** A pause of what does not exist would stop nothing. The settings may know no account: then any name is good. */
function requireKnown({ kind, name }: PausedByHand, { gateway, topics }: Settings): void {
  const accounts = [...gateway.accounts.keys()]
  if (kind === 'account' && accounts.length > 0 && !accounts.includes(name)) throw unknownAccount(name, accounts)
  if (kind === 'topic' && !topics.commands.includes(name)) {
    throw new UsageError(
      `--topic: ${name} is not a command topic; the command topics are ${topics.commands.join(', ')}`,
    )
  }
}
