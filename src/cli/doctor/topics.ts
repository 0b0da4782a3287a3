import { type Settings, topicsIn } from '../../config/index.ts'
import { count } from '../../words.ts'
import type { Topic } from '../kafka/cluster.ts'
import { grantingAcl, kafkaTool } from '../kafka/tools.ts'
import { differences } from '../topics/differences.ts'
import { type PlannedTopic, planTopics } from '../topics/plan.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'

export const topics = check({
  name: 'topics',
  about:
    'Every topic exists and has leaders, enough replicas and min.insync.replicas, and the cleanup.policy that it needs: compact where pauses are, delete elsewhere. Commands and doubts have equal partition counts, and so have results, statuses and overdue messages; pauses have one partition.',
  needs: ['settings', 'cluster'],
  async look({ settings, cluster }) {
    const existing = await cluster.topics(topicsIn(settings.topics).map(({ topic }) => topic))
    const planned = planTopics(settings, { existing, nodes: cluster.nodes.length })
    const findings = planned.flatMap(one => ofTopic(one, existing.get(one.topic)!, settings))
    const veiled = planned.flatMap(({ topic }) => (isVeiled(existing.get(topic)!) ? [topic] : []))
    return { findings: [...findings, ...withoutConfig(veiled, settings)], facts: { topics: existing } }
  },
})

function ofTopic(planned: PlannedTopic, topic: Topic, settings: Settings): Finding[] {
  const { topic: name, use } = planned
  if (topic.state === 'missing') {
    const what = `${name} does not exist`
    const idle = use === 'control' || (use === 'overdue' && !settings.roles.includes('reconciler'))
    return [(idle ? warning : failed)(what, 'busgate topics create')]
  }
  if (topic.state === 'hidden')
    return [skipped(`${name} cannot be seen with this login; whether it has to be, rights tells`)]
  const found = differences(planned, topic).map(
    ({ grave, what, mend }): Finding => ({
      state: grave ? 'failed' : 'warning',
      what: `${name}: ${what}`,
      ...(mend && { mend: kafkaTool(settings, mend) }),
    }),
  )
  const size = `${count(topic.partitions, 'partition')}, ${count(topic.replicas, 'replica')}`
  return found.length > 0 ? found : [ok(`${name}: ${size}`)]
}

const isVeiled = ({ state, config }: Topic) => state === 'exists' && config === null

function withoutConfig(names: readonly string[], settings: Settings): Finding[] {
  if (names.length === 0) return []
  const what = `cleanup.policy, min.insync.replicas and retention of ${names.join(', ')}: this login may not see them`
  const mend = grantingAcl(settings, 'DescribeConfigs', names.map(name => `--topic ${name}`).join(' '))
  return [{ ...skipped(what), mend }]
}
