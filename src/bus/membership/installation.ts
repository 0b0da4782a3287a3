import { createHash } from 'node:crypto'
import { count } from '../../words.ts'

/** What a process of a group tells the others about itself. */
export interface Announcement {
  host: string
  /** What all processes of the group must agree on: values by setting. */
  installation: Readonly<Record<string, string>>
}

const prefix = 'busgate:'

/**
 * Name of the assignment protocol of one installation. A coordinator admits a member only if all others of the group use its
 * protocol: processes of two installations can never be in one group, whoever comes first.
 */
export function protocolOf({ installation }: Announcement): string {
  const values = Object.keys(installation)
    .toSorted()
    .map(setting => [setting, installation[setting]])
  return prefix + createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)
}

/** Whether members with this protocol own the partitions of commands. */
export const isOwningProtocol = (protocol: string): boolean => protocol.startsWith(prefix)

const mostHosts = 3
export const mendDifference =
  'give each installation its own kafka.groupId; to change a topic or gateway.url, stop all processes first'

/** Says how the members of a group differ from this process; null if they do not. @param others not empty */
export function differenceFrom(mine: Announcement, others: readonly Announcement[]): string | null {
  const theirs = others[0]!.installation
  const settings = [...new Set([...Object.keys(mine.installation), ...Object.keys(theirs)])]
  const differences = settings.flatMap(setting => {
    const [here, there] = [mine.installation[setting], theirs[setting]]
    return here === there ? [] : [`${setting} is ${here ?? 'not set'} here and ${there ?? 'not set'} there`]
  })
  if (differences.length === 0) return null
  const hosts = [...new Set(others.map(({ host }) => host))].toSorted()
  const more = hosts.length - mostHosts
  const there = [...hosts.slice(0, mostHosts), ...(more > 0 ? [count(more, 'more host')] : [])].join(', ')
  return `processes of another installation, on ${there}, are in this group; on ${mine.host}, ${differences.join('; ')}`
}
