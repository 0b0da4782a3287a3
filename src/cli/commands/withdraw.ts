import type { Settings } from '../../config/index.ts'
import { keyOf, nameOf, type Withdrawn, writeChange } from '../../control/change.ts'
import { recordsOf, usualWithdrawalMs, withdrawnBy } from '../../control/withdraw.ts'
import { byFlag, onControl, ourselves, say } from '../control/on-control.ts'
import { command, idFlag, textFlag, toggle, UsageError, untilFlag } from '../framework/command.ts'
import { configFlag, unknownAccount } from '../settings.ts'

export const withdraw = command({
  about: [
    'Takes back messages that were not sent yet, within two seconds on all workers: each of their commands ends',
    'EXPIRED with errorCode WITHDRAWN. Commands written before the withdrawal ends are not sent either. Messages that',
    'the gateway has stay sent; doubts are resolved, but not sent again. The withdrawal survives restarts.',
    'busgate status --results counts how many were sent and how many were not.',
  ].join('\n'),
  flags: {
    campaign: textFlag('NAME', 'All messages of a campaign.'),
    id: idFlag('One message of --account.'),
    account: textFlag('NAME', 'The account of --id. Default: default.'),
    'correlation-id': textFlag('TEXT', 'All messages that carry this correlationId.'),
    tenant: textFlag('NAME', 'All messages of a tenant.'),
    until: untilFlag('End of the withdrawal: a duration (30m, 12h, 7d) or a date. Default: 24h.'),
    reason: textFlag('TEXT', 'Why; every result says it, so use no phone and no text of a message.'),
    end: toggle('Ends the withdrawal: commands written from now on are sent. Results that exist stay.'),
    by: byFlag,
    config: configFlag,
  },
  async run({ end = false, by = ourselves(), until, reason, config, ...names }) {
    const scope = scopeOf(names)
    if (!end && reason === undefined) throw new UsageError('--reason TEXT is missing: every result says why')
    return onControl(config, async control => {
      const { settings, inForce, write } = control
      requireKnown(names.account, settings)
      const { topics } = settings
      const at = Date.now()
      if (end) {
        if (!inForce.some(one => keyOf(one) === keyOf(scope))) throw new UsageError(`${nameOf(scope)} is not withdrawn`)
        await write([writeChange(topics.control, { ...scope, begins: false, by, at, until: null, reason: null })])
        say(`${nameOf(scope)} is no longer withdrawn: commands written from now on are sent.`)
        return 0
      }
      const change = { ...scope, begins: true, by, at, until: until ?? at + usualWithdrawalMs, reason: reason ?? null }
      await write(recordsOf(topics.control, change, control))
      const last = new Date(change.until).toISOString()
      say(
        `${nameOf(scope)} is withdrawn, for commands until ${last}. busgate status --results counts what was sent before.`,
      )
      return 0
    })
  },
})

function requireKnown(account: string | undefined, { gateway }: Settings): void {
  const accounts = [...gateway.accounts.keys()]
  if (account !== undefined && accounts.length > 0 && !accounts.includes(account))
    throw unknownAccount(account, accounts)
}

interface Names {
  campaign?: string
  id?: bigint
  account?: string
  'correlation-id'?: string
  tenant?: string
}

function scopeOf({ 'correlation-id': correlationId, ...names }: Names): Withdrawn {
  if (names.id === undefined && names.account !== undefined)
    throw new UsageError('--account goes with --id: pause stops an account')
  const scope = withdrawnBy({ ...names, correlationId })
  if (scope) return scope
  throw new UsageError('name one of --campaign NAME, --id ID, --correlation-id TEXT, --tenant NAME')
}
