import { type Settings, topicsIn } from '../../config/index.ts'
import { count, span } from '../../words.ts'
import { defaultPartitions, type PlannedTopic, planTopics } from '../doctor/topics.ts'
import { command, given, toggle, whole } from '../framework/command.ts'
import { printable, printableLines } from '../framework/terminal.ts'
import { connectCluster, type Topic } from '../kafka/cluster.ts'
import { createMissingTopics } from '../kafka/create-topics.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'

export const topicsCreate = command({
  about: [
    'Creates the missing topics of commands, those that wait, doubts, results, statuses, overdue messages, pauses, history and dead letters,',
    'with the names in the settings. Existing ones stay as they are: busgate doctor says where they differ from what',
    'busgate needs. Prints one line per topic.',
  ].join('\n'),
  flags: {
    partitions: whole(
      'N',
      `Partitions of each new topic. Default: as many as the existing ones have, else ${defaultPartitions}.`,
      1,
      10_000,
    ),
    replication: whole('N', 'Replicas of each new topic. Default: 3, or as many as there are brokers.', 1, 100),
    json: toggle('Prints one JSON object per line.'),
    config: configFlag,
  },
  async run({ partitions, replication, json, config }) {
    const settings = settingsWithBrokers(config)
    const { existing, planned } = await look(settings, given({ partitions, replication }))
    const missing = planned.filter(({ topic }) => existing.get(topic)!.state === 'missing')
    if (missing.length > 0) await createMissingTopics(settings, missing)
    for (const one of planned) {
      const row = missing.includes(one) ? createdRow(one) : existingRow(one.topic, existing.get(one.topic)!)
      process.stdout.write(json ? `${printable(JSON.stringify(row))}\n` : printableLines(textOf(row)))
    }
    return 0
  },
})

/** A topic as printed. */
interface Row {
  topic: string
  state: 'created' | 'exists' | 'hidden'
  partitions: number | null
  replicas: number | null
  what: string
}

async function look(settings: Settings, wanted: { partitions?: number; replication?: number }) {
  const { brokers } = settings.kafka
  const cluster = await connectCluster(settings, Array.isArray(brokers) ? brokers : [])
  try {
    const existing = await cluster.topics(topicsIn(settings.topics).map(({ topic }) => topic))
    return { existing, planned: planTopics(settings, { existing, nodes: cluster.nodes.length, ...wanted }) }
  } finally {
    await cluster.close()
  }
}

function createdRow({ topic, partitions, replication, config }: PlannedTopic): Row {
  const kept = config['retention.ms'] === undefined ? 'compacted' : `kept ${span(Number(config['retention.ms']))}`
  const what = [count(partitions, 'partition'), count(replication, 'replica'), kept].join(', ')
  return { topic, state: 'created', partitions, replicas: replication, what }
}

function existingRow(topic: string, { state, partitions, replicas }: Topic): Row {
  if (state === 'hidden') {
    return { topic, state, partitions: null, replicas: null, what: 'this login may neither see nor create it' }
  }
  const what = [count(partitions, 'partition'), count(replicas, 'replica')].join(', ')
  return { topic, state: 'exists', partitions, replicas, what }
}

const textOf = ({ topic, state, what }: Row) => `${state.padEnd(7)}  ${topic}  ${what}\n`
