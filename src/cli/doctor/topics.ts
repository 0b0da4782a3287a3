import { leastMessageBytes } from '../../bus/record-limits.ts'
import { type Settings, type TopicUse, topicsIn, topicUses, topology } from '../../config/index.ts'
import { count, span } from '../../words.ts'
import { type Config, grantingAcl, kafkaTool, type Topic } from '../kafka/cluster.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'

export const topics = check({
  name: 'topics',
  about:
    'Every topic exists and has leaders, enough replicas and min.insync.replicas, and its cleanup.policy: compact for pauses and for commands that wait, delete for all others. The broker sets the timestamps of commands. Commands and doubts have equal partition counts, and so have results, statuses and overdue messages; pauses have one partition.',
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
    const idle =
      use === 'control' || topology[use].dispensable || (use === 'overdue' && !settings.roles.includes('reconciler'))
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

interface BrokerLimit {
  name: string
  /** Why the value violates the limit; null if it does not. */
  broken(value: number, settings: Settings): string | null
  /** The value that the brokers should have. */
  wanted(settings: Settings): number
}

const minuteMs = 60_000
/** Largest metadata of a committed offset with a full window (decision 008), with a margin. */
const metadataBytes = 3000
const transactionMs = 30_000

const brokerLimits: BrokerLimit[] = [
  {
    name: 'offsets.retention.minutes',
    broken: (minutes, { commands }) =>
      minutes * minuteMs > commands.maxAgeMs
        ? null
        : `committed offsets are deleted after ${span(minutes * minuteMs)} without a worker, and commands of up to ${span(commands.maxAgeMs)} would be sent again`,
    wanted: ({ commands }) => Math.ceil((2 * commands.maxAgeMs) / minuteMs),
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
    'Commands, doubts and committed offsets (offsets.retention.minutes) are kept longer than commands.maxAgeMs, and the limits of the brokers allow the settings.',
  needs: ['settings', 'cluster', 'topics'],
  async look({ settings, cluster, topics }) {
    const planned = planTopics(settings, { existing: topics, nodes: cluster.nodes.length })
    const ofTopics = planned.flatMap(one => retention(one, topics.get(one.topic)!, settings))
    const ofResults = planned.flatMap(one => (one.use === 'results' ? forgetfulness(one.topic, topics, settings) : []))
    const names = brokerLimits.map(({ name }) => name)
    const ofBrokers = await Promise.all(
      cluster.nodes.map(async ({ id }) => ofBroker(id, await cluster.nodeConfig(id, names), settings)),
    )
    return { findings: [...ofTopics, ...ofResults, ...ofBrokers.flat()] }
  },
})

function retention({ topic: name, use, config: wanted }: PlannedTopic, topic: Topic, settings: Settings): Finding[] {
  if (topic.config === null) return []
  if (topic.config.get('cleanup.policy') === 'compact') return [ok(`${name} keeps the last record of each key`)]
  const { maxAgeMs } = settings.commands
  const keptMs = keptMsOf(topic.config)
  const bytes = Number(topic.config.get('retention.bytes'))
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

function keptMsOf(config: Config): number {
  const ms = Number(config.get('retention.ms'))
  return ms < 0 ? Number.POSITIVE_INFINITY : ms
}

/** Results tell after a reset of offsets what was sent, so they are kept as long as commands. */
function forgetfulness(results: string, topics: ReadonlyMap<string, Topic>, settings: Settings): Finding[] {
  const [resultsMs, ...ofCommands] = [results, ...settings.topics.commands].map(name => {
    const config = topics.get(name)?.config
    return config ? keptMsOf(config) : Number.NaN // not visible, so nothing is said of it
  })
  const commandsMs = Math.max(...ofCommands)
  if (!(resultsMs! < commandsMs)) return []
  const what = `${results} is kept for ${span(resultsMs!)}, and commands for ${span(commandsMs)}: after a reset of offsets, commands without a result are sent again`
  const wanted = Number.isFinite(commandsMs) ? commandsMs : -1
  return [warning(what, kafkaTool(settings, altering(results, `retention.ms=${wanted}`)))]
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

/** Where an existing topic differs from its plan. */
export interface Difference {
  /** Whether busgate refuses to run with it, or may lose records; otherwise it is only less safe. */
  grave: boolean
  what: string
  mend: Mend | null
}

/** A command of Kafka's tools, without the brokers' address. */
export interface Mend {
  tool: string
  args: string
}

/** Consequence of a wrong cleanup.policy. */
const harms: Partial<Record<PlannedTopic['use'] | 'others', string>> = {
  results: 'compaction removes results, and after a reset of offsets their commands are sent again',
  control: 'retention by age removes pauses, and sending resumes',
  later: 'retention by age removes commands that wait, without a result',
  workers: 'it grows without need',
  others: 'compaction removes records that nobody has read yet',
}

type Rule = (planned: PlannedTopic, topic: Topic) => Difference | null

/** About the brokers' default: a dead letter or a doubt contains a whole command. */
const wantedMessageBytes = 1_048_576

const rules: Rule[] = [
  function partitions(planned, topic) {
    const { partitions, dispensable } = topology[planned.use]
    if (topic.partitions === planned.partitions || partitions === 'alone' || dispensable) return null
    if (partitions === 'single') {
      const what = `${count(topic.partitions, 'partition')} instead of one: the order of pauses and resumes is lost`
      const mend = 'note what busgate status shows, delete the topic, create it with busgate topics create, pause again'
      return { grave: true, what: `${what}: ${mend}`, mend: null }
    }
    const what = `${count(topic.partitions, 'partition')} instead of ${planned.partitions}`
    if (topic.partitions > planned.partitions) return { grave: false, what: `${what}; none can be removed`, mend: null }
    const args = `--alter --topic ${planned.topic} --partitions ${planned.partitions}`
    return { grave: false, what, mend: { tool: 'kafka-topics.sh', args } }
  },

  function leaders({ topic: name }, topic) {
    if (topic.leaderless === 0) return null
    const what = `${count(topic.leaderless, 'partition')} without a leader: they can be neither read nor written`
    return { grave: true, what, mend: { tool: 'kafka-topics.sh', args: `--describe --topic ${name}` } }
  },

  function replicas(planned, topic) {
    if (topic.replicas >= planned.replication) return null
    const what = `${count(topic.replicas, 'replica')} instead of ${planned.replication}`
    const args = '--reassignment-json-file MORE-REPLICAS.json --execute'
    return { grave: false, what, mend: { tool: 'kafka-reassign-partitions.sh', args } }
  },

  function cleanup(planned, topic) {
    const wanted = planned.config['cleanup.policy']
    const policy = topic.config?.get('cleanup.policy') ?? wanted
    if (policy === wanted) return null
    const what = `cleanup.policy is ${policy}: ${harms[planned.use] ?? harms.others}`
    return { grave: !topology[planned.use].dispensable, what, mend: setting(planned, 'cleanup.policy') }
  },

  function timestamps(planned, topic) {
    const wanted = planned.config['message.timestamp.type']
    const type = topic.config?.get('message.timestamp.type') ?? wanted
    if (wanted === undefined || type === wanted) return null
    const what =
      `message.timestamp.type is ${type}: a command that its producer dates before the retention is deleted unread, ` +
      'and the repetition of one dated hours ahead may be sent'
    return { grave: false, what, mend: setting(planned, 'message.timestamp.type') }
  },

  function inSync(planned, topic) {
    const least = Number(topic.config?.get('min.insync.replicas') ?? planned.config['min.insync.replicas'])
    const mend = setting(planned, 'min.insync.replicas')
    if (least > topic.replicas) {
      const what = `min.insync.replicas is ${least}, with ${count(topic.replicas, 'replica')}: nothing can be written`
      return { grave: true, what, mend }
    }
    if (topic.inSync < least) {
      const what = `a partition has ${topic.inSync} replicas in sync and needs ${least}: nothing can be written there`
      return { grave: true, what, mend: { tool: 'kafka-topics.sh', args: `--describe --topic ${planned.topic}` } }
    }
    if (least >= Number(planned.config['min.insync.replicas'])) return null
    const what = `min.insync.replicas is ${least}: a record can be confirmed by a single broker, and lost with it`
    return { grave: false, what, mend }
  },

  function messageBytes({ topic: name, use, config }, topic) {
    const wanted = Number(config['max.message.bytes'] ?? wantedMessageBytes)
    const most = Number(topic.config?.get('max.message.bytes') ?? wanted)
    if (most >= wanted || use === 'commands' || use === 'control' || use === 'workers') return null
    const grave = most < leastMessageBytes
    const what = grave
      ? `max.message.bytes is ${most}: records cannot be shortened that far, and their partition would stop`
      : `max.message.bytes is ${most}: longer ${use === 'later' ? 'commands cannot wait' : 'records are shortened'}`
    return { grave, what, mend: altering(name, `max.message.bytes=${wanted}`) }
  },
]

/** Compares a topic with its plan. Skips topic settings that this account may not see. */
export function differences(planned: PlannedTopic, topic: Topic): Difference[] {
  return rules.flatMap(rule => rule(planned, topic) ?? [])
}

export function altering(topic: string, entry: string): Mend {
  return { tool: 'kafka-configs.sh', args: `--alter --entity-type topics --entity-name ${topic} --add-config ${entry}` }
}

function setting({ topic, config }: PlannedTopic, name: keyof PlannedTopic['config']): Mend {
  return altering(topic, `${name}=${config[name]}`)
}

/** The plan of a topic. */
export interface PlannedTopic {
  topic: string
  use: TopicUse
  partitions: number
  replication: number
  /** Topic settings by Kafka's names. */
  config: Record<'cleanup.policy' | 'min.insync.replicas', string> &
    Partial<
      Record<
        | 'retention.ms'
        | 'segment.ms'
        | 'min.compaction.lag.ms'
        | 'max.compaction.lag.ms'
        | 'max.message.bytes'
        | 'message.timestamp.type',
        string
      >
    >
}

export interface ClusterState {
  existing: ReadonlyMap<string, Topic>
  /** Number of brokers. */
  nodes: number
  /** Overrides of the user for new topics. */
  partitions?: number
  replication?: number
}

const dayMs = 24 * 3_600_000
const weekMs = 7 * dayMs
/** Long, since people must find time to look at dead letters. */
const deadLettersMs = 30 * dayMs
/** How long at least all pauses stay in the log. The last change of each scope is kept for ever. */
const pausesMs = 30 * dayMs
/** Reports are renewed three times a minute. Kafka deletes whole segments. */
const reportsMs = 10 * 60_000
/** How long a message at most stays in the log after it was sent. */
const waitedMs = dayMs
const mostReplicas = 3

/** Partitions can be added, but not removed; twelve divide evenly among up to four processes, six and twelve. */
export const defaultPartitions = 12

/**
 * Plans all topics. Partitions can only be added, so the topic with the most partitions determines those that must match it.
 */
export function planTopics(settings: Settings, circumstances: ClusterState): PlannedTopic[] {
  const { existing, nodes, replication = Math.min(mostReplicas, nodes) } = circumstances
  const topics = topicsIn(settings.topics)
  const most = (uses: readonly TopicUse[]) =>
    Math.max(0, ...topics.map(({ topic, use }) => (uses.includes(use) ? (existing.get(topic)?.partitions ?? 0) : 0)))
  const partitionsOf = (use: TopicUse) => {
    if (topology[use].partitions === 'single') return 1
    return circumstances.partitions ?? (most(sharing(use)) || most(grouped) || defaultPartitions)
  }
  return topics.map(({ topic, use }) => ({
    topic,
    use,
    partitions: partitionsOf(use),
    replication,
    config: { 'min.insync.replicas': String(minInSync(replication)), ...keeping(use, settings) },
  }))
}

const grouped = topicUses.filter(use => topology[use].partitions.startsWith('of '))

/** The uses whose topics must have equally many partitions, this one included. */
function sharing(use: TopicUse): TopicUse[] {
  return grouped.includes(use) ? grouped.filter(one => topology[one].partitions === topology[use].partitions) : [use]
}

/** Tolerates one missing replica; with fewer than three replicas, none. */
function minInSync(replication: number): number {
  return replication >= 3 ? replication - 1 : 1
}

function keeping(use: TopicUse, { commands }: Settings) {
  const { kept } = topology[use]
  if (kept === 'last of a key') return { 'cleanup.policy': 'compact', 'min.compaction.lag.ms': String(pausesMs) }
  if (kept === 'until done')
    return {
      'cleanup.policy': 'compact',
      'max.compaction.lag.ms': String(waitedMs),
      'max.message.bytes': String(2 * wantedMessageBytes), // a command of the longest, and our headers
    }
  const brokersTime = { 'message.timestamp.type': 'LogAppendTime' } // other clocks can be wrong
  if (kept === 'for minutes') {
    const ms = String(reportsMs)
    return { 'cleanup.policy': 'delete', 'retention.ms': ms, 'segment.ms': ms, ...brokersTime }
  }
  const ms = kept === 'until seen' ? deadLettersMs : Math.max(weekMs, 2 * commands.maxAgeMs)
  return { 'cleanup.policy': 'delete', 'retention.ms': String(ms), ...(use === 'commands' && brokersTime) }
}
