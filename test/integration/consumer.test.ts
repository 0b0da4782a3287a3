import { expect, test } from 'vitest'
import { readResults } from '../../src/consumer/index.ts'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { openAdmin } from '../support/kafka.ts'
import { startWorld } from '../support/worker.ts'

const run = Date.now().toString(36)

describeOnKafka('busgate/consumer on a real Kafka', ({ brokers, registryUrl }) => {
  test('commits the offsets of its group up to the end of the log, as every tool of Kafka shows them', async () => {
    const world = await startWorld({ brokers: { brokers, registryUrl } })
    const group = `consumer-test-${run}-billing`
    const ids: bigint[] = []
    const end = new AbortController()
    const reading = (async () => {
      for await (const { value } of readResults(world.settings, { from: { group }, signal: end.signal }))
        ids.push(value.id)
    })()
    const wanted = Array.from({ length: 200 }, (_, i) => BigInt(i + 1))
    await world.send(wanted.map(id => buildCommand({ id })))
    await until(() => expect(ids.toSorted((a, b) => Number(a - b))).toEqual(wanted))
    const admin = await openAdmin(brokers)
    const topic = world.settings.topics.results
    await until(async () => {
      const [progress] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
      const [log] = await admin.fetchTopicOffsets(topic)
      expect(progress!.partitions[0]!.offset).toBe(log!.high)
    })
    end.abort()
    await reading
    const { groups } = await admin.describeGroups([group])
    expect(groups[0]!.members).toEqual([])
  })
})
