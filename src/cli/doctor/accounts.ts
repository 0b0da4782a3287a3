import { keyPlaceOf, type Settings } from '../../config/index.ts'
import { readResults, type UnreadableRecordError } from '../../consumer/index.ts'
import { count } from '../../words.ts'
import { check, type Facts, type Finding, failed, ok, skipped, warning } from './check.ts'

/** An account that sent a message within this time works now. */
const lately = { ms: 300_000, text: 'five minutes' }
/** Longest reading of results: a busy topic shows its accounts soon. */
const readMs = 3_000

export const accounts = check({
  name: 'accounts',
  about: `Each account whose messages were sent in the last ${lately.text} has a key that the gateway accepts: an upgrade loses no key that works now.`,
  needs: ['settings', 'topics', 'keys'],
  async look({ settings, topics, keys }) {
    if (!settings.roles.includes('worker')) return { findings: [skipped('this process sends no commands')] }
    if (topics.get(settings.topics.results)?.state !== 'exists') {
      return { findings: [skipped(`${settings.topics.results} cannot be read`)] }
    }
    const { inUse, unread } = await accountsInUse(settings)
    return { findings: [...ofAll([...inUse], keys, settings), ...ofUnread(unread)] }
  },
})

function ofAll(inUse: readonly string[], keys: Facts['keys'], settings: Settings): Finding[] {
  if (inUse.length === 0) return [skipped(`no message was sent in the last ${lately.text}`)]
  const lost = inUse.filter(name => !keys.get(name))
  if (lost.length === 0) return [ok(`the keys of all accounts that send now are accepted`)]
  return lost.map(name => ofLost(name, keys, settings))
}

function ofUnread([first, ...others]: readonly UnreadableRecordError[]): Finding[] {
  if (!first) return []
  const what = `${count(others.length + 1, 'result')} cannot be read, and may be of other accounts: ${first.message}`
  return [warning(what, 'find out who writes to this topic: busgate tail results shows such records')]
}

function ofLost(name: string, keys: Facts['keys'], { gateway }: Settings): Finding {
  const account = gateway.accounts.get(name)
  const works = `messages of account ${name} were sent in the last ${lately.text}`
  if (!account) {
    const setting = name === 'default' ? 'gateway.apiKey' : `gateway.accounts.${name}.apiKey`
    return failed(
      `${works}, and these settings have no key for it`,
      `keep ${setting}: without it, its commands are not sent`,
    )
  }
  if (!keys.has(name)) {
    return failed(
      `${works}, and the gateway did not say whether it accepts its key here`,
      'repair what the check gateway says of it',
    )
  }
  return failed(
    `${works}, and its key here is not accepted`,
    `put the key that works into ${keyPlaceOf(name, account)}`,
  )
}

/** Accounts with messages that these command topics' workers sent lately. */
async function accountsInUse(settings: Settings) {
  const inUse = new Set<string>()
  const unread: UnreadableRecordError[] = []
  const results = readResults(settings, {
    from: new Date(Date.now() - lately.ms),
    untilEnd: true,
    signal: AbortSignal.timeout(readMs),
    onUnreadable: error => unread.push(error),
  })
  for await (const { value } of results) {
    if (value.outcome === 'SENT' && settings.topics.commands.includes(value.commandTopic)) inUse.add(value.account)
  }
  return { inUse, unread }
}
