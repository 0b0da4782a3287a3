import { rightsOf, type Settings, type TopicRight, type TopicUse, topicsIn } from '../../config/index.ts'
import type { Role } from '../../protocol/index.ts'
import { codeOf } from '../../telemetry/error.ts'
import { type Cluster, grantingAcl, type Right, type Topic } from '../kafka/cluster.ts'
import { check, type Finding, failed, ok } from './check.ts'

/** Roles whose partitions are owned: they join the group and write in transactions. */
const owners: readonly Role[] = ['worker', 'reconciler']
const operations: Record<TopicRight, string> = { READ: 'Read', WRITE: 'Write' }

export const rights = check({
  name: 'rights',
  about:
    'The rights of the login for the roles of this process: READ and WRITE of the topics, READ of the group, WRITE of the transactional ids. It begins and aborts a transaction with an id that no worker uses, and writes no record.',
  needs: ['settings', 'cluster', 'topics'],
  async look({ settings, cluster, topics }) {
    const ofTopics = topicsIn(settings.topics).flatMap(({ topic, use }) =>
      ofTopic(topic, use, topics.get(topic)!, settings),
    )
    if (!settings.roles.some(role => owners.includes(role))) return { findings: ofTopics }
    const [ofGroups, transaction] = await Promise.all([
      Promise.all(groupsOf(settings).map(group => ofGroup(group, settings, cluster))),
      transactionOf(settings, cluster),
    ])
    return { findings: [...ofTopics, ...ofGroups, transaction] }
  },
})

function ofTopic(topic: string, use: TopicUse, { rights }: Topic, settings: Settings): Finding[] {
  const needed = rightsOf(use, settings)
  const missing = needed.filter(right => !rights.has(right))
  if (needed.length === 0) return []
  if (missing.length === 0) return [ok(`${needed.join(' and ')} of ${topic}`)]
  return missing.map(right => lacking(settings, right, topic, `--topic ${topic}`))
}

/** The reconciler has a group of its own. */
function groupsOf({ roles, kafka: { groupId } }: Settings): string[] {
  return [
    ...(roles.includes('worker') ? [groupId] : []),
    ...(roles.includes('reconciler') ? [`${groupId}-reconciler`] : []),
  ]
}

async function ofGroup(groupId: string, settings: Settings, cluster: Cluster): Promise<Finding> {
  const held = await cluster.groupRights(groupId).catch(error => {
    if (codeOf(error) !== 'GROUP_AUTHORIZATION_FAILED') throw error
    return new Set<Right>()
  })
  const name = `the group ${groupId}`
  return held.has('READ') ? ok(`READ of ${name}`) : lacking(settings, 'READ', name, `--group ${groupId}`)
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
    const resource = `--transactional-id ${prefix} --resource-pattern-type prefixed`
    return lacking(settings, 'WRITE', name, resource)
  }
}

function lacking(settings: Settings, right: TopicRight, name: string, resource: string): Finding {
  return failed(`${right} of ${name} is missing`, grantingAcl(settings, operations[right], resource))
}
