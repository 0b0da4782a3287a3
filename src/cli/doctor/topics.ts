import { type Settings, topicsIn } from '../../config/index.ts'
import { count, span } from '../../words.ts'
import { type Config, grantingAcl, kafkaTool, type Topic } from '../kafka/cluster.ts'
import { type PlannedTopic, planTopics } from '../topics/plan.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'
import { altering, differences } from './differences.ts'

export const topics = check({
  name: 'topics',
  about:
    'Every topic exists and has leaders, enough replicas and min.insync.replicas, and its cleanup.policy: compact for pauses, delete for all others. Commands and doubts have equal partition counts, and so have results, statuses and overdue messages; pauses have one partition.',
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
    return [skipped(`${name} cannot be seen with this login; the check rights says whether that matters`)]
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
  const what = `cleanup.policy, min.insync.replicas and retention of ${names.join(', ')}: this login cannot see them`
  const mend = grantingAcl(settings, 'DescribeConfigs', names.map(name => `--topic ${name}`).join(' '))
  return [{ ...skipped(what), mend }]
}

/** A limit of the brokers that a setting must respect. */
interface BrokerLimit {
  name: string
  /** null: it is kept. */
  broken(value: number, settings: Settings): string | null
  /** Tells what the brokers should have. */
  wanted(settings: Settings): number
}

const minuteMs = 60_000
/** A window full of commands takes so much in a committed offset (decision 008), with room for its frame. */
const metadataBytes = 3000
const transactionMs = 30_000

const brokerLimits: BrokerLimit[] = [
  {
    name: 'offsets.retention.minutes',
    broken: (minutes, { delivery }) =>
      minutes * minuteMs > delivery.maxAgeMs
        ? null
        : `committed offsets are deleted after ${span(minutes * minuteMs)} without a worker, and commands of up to ${span(delivery.maxAgeMs)} would be sent again`,
    wanted: ({ delivery }) => Math.ceil((2 * delivery.maxAgeMs) / minuteMs),
  },
  {
    name: 'offset.metadata.max.bytes',
    broken: bytes =>
      bytes >= metadataBytes ? null : `a full window of commands takes up to ${metadataBytes} bytes of it`,
    wanted: () => 4096,
  },
  {
    name: 'transaction.max.timeout.ms',
    broken: ms => (ms >= transactionMs ? null : `transactions may take ${transactionMs} ms`),
    wanted: () => 900_000,
  },
  {
    name: 'group.max.session.timeout.ms',
    broken: (ms, { kafka }) => (ms >= kafka.sessionTimeoutMs ? null : sessionsRefused(kafka.sessionTimeoutMs)),
    wanted: ({ kafka }) => kafka.sessionTimeoutMs,
  },
  {
    name: 'group.min.session.timeout.ms',
    broken: (ms, { kafka }) => (ms <= kafka.sessionTimeoutMs ? null : sessionsRefused(kafka.sessionTimeoutMs)),
    wanted: ({ kafka }) => kafka.sessionTimeoutMs,
  },
]

export const limits = check({
  name: 'limits',
  about:
    'Commands, doubts and committed offsets (offsets.retention.minutes) are kept longer than delivery.maxAgeMs, and the limits of the brokers allow the settings.',
  needs: ['settings', 'cluster', 'topics'],
  async look({ settings, cluster, topics }) {
    const planned = planTopics(settings, { existing: topics, nodes: cluster.nodes.length })
    const ofTopics = planned.flatMap(one => retention(one, topics.get(one.topic)!, settings))
    const names = brokerLimits.map(({ name }) => name)
    const ofBrokers = await Promise.all(
      cluster.nodes.map(async ({ id }) => ofBroker(id, await cluster.nodeConfig(id, names), settings)),
    )
    return { findings: [...ofTopics, ...ofBrokers.flat()] }
  },
})

function retention({ topic: name, use, config: wanted }: PlannedTopic, topic: Topic, settings: Settings): Finding[] {
  if (topic.config === null) return []
  const { maxAgeMs } = settings.delivery
  const ms = Number(topic.config.get('retention.ms'))
  const bytes = Number(topic.config.get('retention.bytes'))
  const keptMs = ms < 0 ? Number.POSITIVE_INFINITY : ms
  const unfinished = use === 'commands' || use === 'doubts'
  const mend = (entry: string) => kafkaTool(settings, altering(name, entry))
  if (unfinished && keptMs < maxAgeMs) {
    const what = `${name} is kept for ${span(keptMs)}, and commands live for ${span(maxAgeMs)}: they can be deleted without a result`
    return [failed(what, mend(`retention.ms=${wanted['retention.ms']}`))]
  }
  if (unfinished && bytes >= 0) {
    const what = `${name} is limited to ${bytes} bytes a partition: under load commands can be deleted without a result`
    return [warning(what, mend('retention.bytes=-1'))]
  }
  return [ok(`${name} is kept for ${span(keptMs)}`)]
}

function ofBroker(id: number, config: Config | null, settings: Settings): Finding[] {
  if (config === null) {
    const what = `the limits of broker ${id} cannot be seen with this login`
    return [{ ...skipped(what), mend: grantingAcl(settings, 'DescribeConfigs', '--cluster') }]
  }
  const broken = brokerLimits.flatMap(({ name, broken, wanted }): Finding[] => {
    const value = config.get(name)
    const why = value === undefined ? null : broken(Number(value), settings)
    if (why === null) return []
    return [failed(`broker ${id}: ${name} is ${value}: ${why}`, `${name}=${wanted(settings)} in its server.properties`)]
  })
  return broken.length > 0 ? broken : [ok(`broker ${id}: its limits allow the settings`)]
}

function sessionsRefused(ms: number): string {
  return `kafka.sessionTimeoutMs is ${ms}, which this broker refuses`
}
