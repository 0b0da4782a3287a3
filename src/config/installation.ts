import type { Settings } from './compile.ts'
import { topicUses } from './topology.ts'

/**
 * What all processes of a group must agree on, by setting: a result, a doubt or a withdrawal that is written to one topic must be
 * found there, and a poll must ask the gateway that got the command. Accounts and command topics are left out: a rolling update
 * may add some; no process depends on the topic of reports.
 */
export function installationOf({ gateway, topics }: Settings & { gateway: { url: string } }): Record<string, string> {
  const names = topicUses.flatMap(use =>
    use === 'commands' || use === 'workers' ? [] : [[`topics.${use}`, topics[use]] as const],
  )
  return { 'gateway.url': gateway.url, ...Object.fromEntries(names) }
}
