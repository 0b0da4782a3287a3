import { hostname } from 'node:os'
import * as apis from '../../bus/cluster/apis.ts'
import { differenceFrom, mendDifference } from '../../bus/membership/installation.ts'
import { fetchRecords } from '../../bus/read/fetch-api.ts'
import { produce } from '../../bus/write/produce-api.ts'
import {
  installationOf,
  rightsOf,
  runningRoles,
  type Settings,
  type TopicRight,
  type TopicUse,
  topicsIn,
  topology,
} from '../../config/index.ts'
import { shellWord } from '../../shell.ts'
import { codeOf, safeText } from '../../telemetry/error.ts'
import type { Role } from '../../vocabulary/lists.ts'
import { count } from '../../words.ts'
import { type Cluster, connectCluster, grantingAcl, type Right, type Spoken, type Topic } from '../kafka/cluster.ts'
import { check, type Finding, failed, named, notSet, ok, skipped, warning } from './check.ts'

const isApi = (one: unknown): one is Spoken => typeof one === 'object' && one !== null && 'versions' in one
/** The requests that busgate makes. */
const spoken = [...Object.values<unknown>(apis).filter(isApi), fetchRecords, produce]
const enoughNodes = 3
const newEnough = 'use Apache Kafka 3.0 or newer'

export const cluster = check({
  name: 'cluster',
  about:
    'Signs in to one of kafka.brokers, and asks each broker at its advertised address which requests it supports (API versions).',
  needs: ['settings'],
  async look({ settings }) {
    const { brokers } = settings.kafka
    if (!Array.isArray(brokers)) {
      const none = 'there are no brokers to check'
      return { findings: [brokers ? skipped(`kafka.brokers is ${brokers}: ${none}`) : notSet('kafka.brokers', none)] }
    }
    try {
      const found = await connectCluster(settings, brokers)
      const findings = await Promise.all(found.nodes.map(node => ofNode(node, found)))
      if (found.nodes.length < enoughNodes) {
        const few = `the cluster has ${count(found.nodes.length, 'broker')}: if one breaks, its records are lost or unavailable`
        findings.push(warning(few, `give it ${enoughNodes}`))
      }
      return { findings, facts: { cluster: found } }
    } catch (error) {
      return { findings: [unusable(error as Error)] }
    }
  },
})

async function ofNode({ id, host, port }: Cluster['nodes'][number], found: Cluster) {
  const name = `broker ${id} at ${host}:${port}`
  try {
    const missing = await found.unspoken(id, spoken)
    if (missing.length === 0) return ok(`${name} supports all requests of busgate`)
    return failed(`${name} does not support ${missing.join(', ')}`, newEnough)
  } catch (error) {
    const mend = `check advertised.listeners of broker ${id}: clients connect to the address that it names`
    return failed(`${name} cannot be used: ${said(error as Error)}`, mend)
  }
}

function unusable(error: Error): Finding {
  if (codeOf(error) === 'UNSUPPORTED_VERSION') return failed(said(error), newEnough)
  const settings = ['kafka.brokers', 'kafka.ssl', 'kafka.sasl.mechanism', 'kafka.sasl.username'] as const
  return failed(`no broker can be used: ${said(error)}`, `check ${settings.map(named).join(', ')} and its password`)
}

function said(error: Error): string {
  const code = codeOf(error)
  return safeText(code ? `${error.message} (${code})` : error.message)
}

export const groups = check({
  name: 'groups',
  about:
    'No other consumer group sends from the command topics now, as far as this login may see groups: each group sends every command. No other installation works in the groups of these settings.',
  needs: ['settings', 'cluster'],
  async look({ settings, cluster }) {
    const foreign = await foreignMembers(settings, cluster)
    const { kafka, topics, roles } = settings
    if (!roles.includes('worker')) {
      return { findings: foreign.length > 0 ? foreign : [skipped('this process sends no commands')] }
    }
    const others = (await cluster.sendingGroups(topics.commands)).filter(group => group !== kafka.groupId)
    if (others.length === 0) return { findings: [...foreign, ok('no other group sends these commands')] }
    const mend = `give all workers of these topics one ${named('kafka.groupId')}, or give each group its own topics`
    return {
      findings: [
        ...foreign,
        ...others.map(group => failed(`the group ${group} sends these commands too: each is sent twice`, mend)),
      ],
    }
  },
})

/** Members of another installation in the groups of this process: it would wait until they leave. */
async function foreignMembers(settings: Settings, cluster: Cluster): Promise<Finding[]> {
  const { gateway, kafka } = settings
  const { url } = gateway
  if (url === undefined) return []
  const mine = { host: hostname(), installation: installationOf({ ...settings, gateway: { ...gateway, url } }) }
  const findings = runningRoles(settings).map(async role => {
    const group = groupsByRole[role]?.(kafka.groupId)
    const others = group === undefined ? [] : await cluster.announcements(group).catch(() => []) // `rights` reports it
    const difference = others.length > 0 ? differenceFrom(mine, others) : null
    return difference === null ? [] : [failed(`${group}: ${difference}`, mendDifference)]
  })
  return (await Promise.all(findings)).flat()
}

/** The group that a role joins to own partitions; its commits are transactions. */
const groupsByRole: Readonly<Record<Role, ((groupId: string) => string) | null>> = {
  worker: groupId => groupId,
  callbacks: null,
  reconciler: groupId => `${groupId}-reconciler`,
}
const operations: Record<TopicRight, string> = { READ: 'Read', WRITE: 'Write' }

export const rights = check({
  name: 'rights',
  about:
    'The rights of the login for the roles of this process: READ and WRITE of the topics, READ of the group, WRITE of the transactional ids. It begins and aborts a transaction with an id that no worker uses, and writes no record.',
  needs: ['settings', 'cluster', 'topics'],
  async look({ settings: given, cluster, topics }) {
    const settings = { ...given, roles: runningRoles(given) }
    const ofTopics = topicsIn(settings.topics).flatMap(({ topic, use }) =>
      ofTopic(topic, use, topics.get(topic)!, settings),
    )
    const groups = settings.roles.flatMap(role => groupsByRole[role]?.(settings.kafka.groupId) ?? [])
    if (groups.length === 0) return { findings: ofTopics }
    const [ofGroups, transaction] = await Promise.all([
      Promise.all(groups.map(group => ofGroup(group, settings, cluster))),
      transactionOf(settings, cluster),
    ])
    return { findings: [...ofTopics, ...ofGroups, transaction] }
  },
})

function ofTopic(topic: string, use: TopicUse, { state, rights }: Topic, settings: Settings): Finding[] {
  if (state === 'missing') return [] // the broker names the rights that a new topic would have
  const needed = rightsOf(use, settings)
  const missing = needed.filter(right => !rights.has(right))
  if (needed.length === 0) return []
  if (missing.length === 0) return [ok(`${needed.join(' and ')} of ${topic}`)]
  const findings = missing.map(right => lacking(settings, right, topic, `--topic ${topic}`))
  return topology[use].dispensable ? findings.map(one => ({ ...one, state: 'warning' })) : findings
}

async function ofGroup(groupId: string, settings: Settings, cluster: Cluster): Promise<Finding> {
  const held = await cluster.groupRights(groupId).catch(error => {
    if (codeOf(error) !== 'GROUP_AUTHORIZATION_FAILED') throw error
    return new Set<Right>()
  })
  const name = `the group ${groupId}`
  return held.has('READ') ? ok(`READ of ${name}`) : lacking(settings, 'READ', name, `--group ${shellWord(groupId)}`)
}

async function transactionOf(settings: Settings, cluster: Cluster): Promise<Finding> {
  const { groupId } = settings.kafka
  const prefix = `${groupId}-`
  const name = `the transactional ids ${prefix}…`
  try {
    await cluster.tryTransaction(`${prefix}doctor`, groupId)
    return ok(`WRITE of ${name}: a transaction was begun and aborted`)
  } catch (error) {
    const code = codeOf(error as Error)
    if (code === 'GROUP_AUTHORIZATION_FAILED') return ok(`WRITE of ${name}`)
    if (code !== 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED') throw error
    const resource = `--transactional-id ${shellWord(prefix)} --resource-pattern-type prefixed`
    return lacking(settings, 'WRITE', name, resource)
  }
}

function lacking(settings: Settings, right: TopicRight, name: string, resource: string): Finding {
  return failed(`${right} of ${name} is missing`, grantingAcl(settings, operations[right], resource))
}

export const start = check({
  name: 'start',
  about:
    "Workers know where to begin on each command topic: from the group's committed offset, at the beginning of an empty topic, or as kafka.startFrom says.",
  needs: ['settings', 'cluster', 'topics'],
  async look({ settings, cluster, topics }) {
    const { kafka, roles } = settings
    if (!roles.includes('worker')) return { findings: [skipped('this process sends no commands')] }
    if (kafka.startFrom !== 'fail') return { findings: [ok(`without a committed offset: ${kafka.startFrom}`)] }
    const existing = settings.topics.commands.filter(topic => topics.get(topic)?.state === 'exists')
    try {
      const unread = await Promise.all(
        existing.map(topic => cluster.isUnread(kafka.groupId, topic, topics.get(topic)!.partitions)),
      )
      const refused = existing.filter((_, i) => unread[i]).map(topic => undecided(kafka.groupId, topic))
      return {
        findings: refused.length > 0 ? refused : [ok('the group has committed offsets, or there are no commands yet')],
      }
    } catch (error) {
      if (!codeOf(error as Error)?.endsWith('AUTHORIZATION_FAILED')) throw error
      return { findings: [skipped('this login cannot see the committed offsets of the group')] }
    }
  },
})

function undecided(groupId: string, topic: string): Finding {
  return failed(
    `the group ${groupId} has no committed offset on ${topic}, which is not empty: run refuses to start`,
    `set ${named('kafka.startFrom')} to earliest, which sends these commands, or to latest, which skips them; correct ${named('kafka.groupId')} if it was changed by mistake`,
  )
}
