import { openBus } from '../../bus/open.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { command, toggle, whole } from '../command.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'

const defaultPartitions = 4

export const topicsCreate = command({
  about: [
    'Creates the topics of commands, results, statuses, doubts and dead letters that do not exist yet, with the names',
    'that the settings give. Existing ones are left as they are. Prints a line a topic.',
  ].join('\n'),
  flags: {
    partitions: whole(
      'N',
      `Of each new topic. Default: as many as the first one has, else ${defaultPartitions}.`,
      1,
      10_000,
    ),
    replication: whole('N', "Replicas of each new topic. Default: the brokers' own.", 1, 100),
    json: toggle('Prints one JSON object a line.'),
    config: configFlag,
  },
  async run({ partitions: asked, replication, json, config }) {
    const settings = settingsWithBrokers(config)
    const { commands, results, statuses, doubts, deadLetters } = settings.topics
    const wanted = [...commands, results, statuses, doubts, deadLetters]
    const bus = openBus(settings, new Telemetry())
    try {
      const existing = await bus.partitions(wanted)
      const partitions = asked ?? existing.get(wanted[0]!) ?? defaultPartitions
      const missing = wanted.filter(topic => !existing.has(topic))
      const replicas = replication === undefined ? {} : { replicationFactor: replication }
      if (missing.length > 0) await bus.createTopics(missing.map(topic => ({ topic, partitions, ...replicas })))
      for (const topic of wanted) {
        const row = { topic, partitions: existing.get(topic) ?? partitions, created: !existing.has(topic) }
        process.stdout.write(`${json ? JSON.stringify(row) : lineOf(row)}\n`)
      }
    } finally {
      await bus.close()
    }
    return 0
  },
})

function lineOf({ topic, partitions, created }: { topic: string; partitions: number; created: boolean }): string {
  return `${created ? 'created' : 'exists '}  ${topic}  ${partitions} partitions`
}
