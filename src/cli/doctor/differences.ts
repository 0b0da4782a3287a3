import { leastMessageBytes } from '../../bus/record-limits.ts'
import { topology } from '../../config/index.ts'
import { count } from '../../words.ts'
import type { Topic } from '../kafka/cluster.ts'
import type { PlannedTopic } from '../topics/plan.ts'

/** Difference says where an existing topic is not as busgate wants it. */
export interface Difference {
  /** Whether busgate refuses to run with it, or may lose records; else it is less safe than it could be. */
  grave: boolean
  what: string
  mend: Mend | null
}

/** A tool of Kafka and its arguments, without the address of the brokers. */
export interface Mend {
  tool: string
  args: string
}

/** The harm that another cleanup.policy does. */
const harms: Partial<Record<PlannedTopic['use'] | 'others', string>> = {
  results: 'compaction removes results, and after a reset of offsets their commands are sent again',
  control: 'retention by age removes pauses, and sending resumes',
  others: 'compaction removes records that nobody has read yet',
}

type Rule = (planned: PlannedTopic, topic: Topic) => Difference | null

/** Nearly what a broker takes that nobody has configured: a dead letter or a doubt holds a whole command. */
const wantedMessageBytes = 1_048_576

const rules: Rule[] = [
  function partitions(planned, topic) {
    const { partitions } = topology[planned.use]
    if (topic.partitions === planned.partitions || partitions === 'alone') return null
    if (partitions === 'single') {
      const what = `${count(topic.partitions, 'partition')} instead of one: the order of pauses and resumes is lost`
      const mend = 'note what busgate status shows, delete the topic, create it with busgate topics create, pause again'
      return { grave: true, what: `${what}: ${mend}`, mend: null }
    }
    const grave = partitions === 'of commands'
    const what = `${count(topic.partitions, 'partition')} instead of ${planned.partitions}`
    if (topic.partitions > planned.partitions) return { grave: false, what: `${what}; none can be removed`, mend: null }
    const args = `--alter --topic ${planned.topic} --partitions ${planned.partitions}`
    return { grave, what, mend: { tool: 'kafka-topics.sh', args } }
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
    return { grave: true, what, mend: setting(planned, 'cleanup.policy') }
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

  function messageBytes({ topic: name, use }, topic) {
    const most = Number(topic.config?.get('max.message.bytes') ?? wantedMessageBytes)
    if (most >= wantedMessageBytes || use === 'commands' || use === 'control') return null
    const grave = most < leastMessageBytes
    const what = grave
      ? `max.message.bytes is ${most}: records cannot be shortened that far, and their partition would stop`
      : `max.message.bytes is ${most}: longer records are shortened`
    return { grave, what, mend: altering(name, `max.message.bytes=${wantedMessageBytes}`) }
  },
]

/** Compares a topic with its plan. Settings that this account may not see are passed over. */
export function differences(planned: PlannedTopic, topic: Topic): Difference[] {
  return rules.flatMap(rule => rule(planned, topic) ?? [])
}

export function altering(topic: string, entry: string): Mend {
  return { tool: 'kafka-configs.sh', args: `--alter --entity-type topics --entity-name ${topic} --add-config ${entry}` }
}

function setting({ topic, config }: PlannedTopic, name: keyof PlannedTopic['config']): Mend {
  return altering(topic, `${name}=${config[name]}`)
}
