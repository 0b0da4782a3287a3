import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import { listTransactions } from '../../src/bus/cluster/apis.ts'
import { Brokers } from '../../src/bus/cluster/brokers.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { sleep, systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { busContract } from '../bus/contract.ts'
import { type BusHarness, TestListener } from '../support/bus.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, limitMessages } from '../support/kafka.ts'
import { openWired } from '../support/wires.ts'

describeOnKafka('on Kafka', ({ brokers }) => {
  test('closing a bus ends the join of its process, however far that has come', async () => {
    const topic = `bus-test-${Date.now().toString(36)}-closed`
    await createTopics(brokers, [{ topic, partitions: 1 }])
    for (const beforeCloseMs of [0, 5, 10, 20]) {
      const { bus } = openWired({ brokers, groupId: `${topic}-${beforeCloseMs}` })
      const listener = new TestListener()
      const joining = bus.join([topic], listener).then(
        () => 'joined',
        () => 'ended',
      )
      const soon = await Promise.race([joining, sleep(systemClock, beforeCloseMs)])
      await bus.close()
      expect(await joining, `closed after ${beforeCloseMs} ms`).toBe(soon ?? 'ended')
      if (soon === undefined) expect(listener.sessions.size).toBe(0)
    }
  })

  busContract('the Kafka bus', async (): Promise<BusHarness> => {
    const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING, retry: { initialRetryTime: 20 } })
    const run = Date.now().toString(36)
    const admin = kafka.admin()
    await admin.connect()
    let topics = 0

    async function transactional(id: string) {
      const producer = kafka.producer({ transactionalId: id, maxInFlightRequests: 1 })
      await producer.connect()
      return producer
    }

    /** The transactional ids of all processes that were ever in the group. */
    async function processesOf(groupId: string): Promise<string[]> {
      const nodes = new Brokers({ clientId: 'fence', seeds: brokers, clock: systemClock, telemetry: new Telemetry() })
      await nodes.refresh()
      const lists = nodes.nodes().map(node => nodes.ask({ node }, listTransactions, [[], [], -1n, null]))
      const ids = (await Promise.all(lists)).flatMap(({ transactionStates }) =>
        transactionStates.map(({ transactionalId }) => transactionalId),
      )
      await nodes.close()
      return ids.filter(id => id.startsWith(`${groupId}-process/`))
    }

    const leadersOf = async (topic: string) => {
      const { topics: known } = await admin.fetchTopicMetadata({ topics: [topic] })
      return known[0]!.partitions.filter(({ leader }) => leader >= 0).length
    }
    return {
      async topic(name, partitions, maxMessageBytes) {
        const topic = `bus-test-${run}-${name}-${++topics}`
        const config: Record<string, string> = maxMessageBytes ? { 'max.message.bytes': String(maxMessageBytes) } : {}
        await createTopics(brokers, [{ topic, partitions, config }])
        return topic
      },

      limit: (topic, maxMessageBytes) => limitMessages(brokers, topic, maxMessageBytes),

      async process(groupId) {
        const { bus, telemetry, cut } = openWired({ brokers, groupId })
        return { bus, telemetry, crash: async () => cut() }
      },

      async fence(groupId) {
        for (const id of await processesOf(groupId)) {
          const producer = await transactional(id)
          await (await producer.transaction()).abort()
          await producer.disconnect()
        }
      },

      async transactions(groups) {
        const open = []
        for (const [i, { records, abort }] of groups.entries()) {
          const producer = await transactional(`upstream-${run}-${i}`)
          open.push({ producer, transaction: await producer.transaction(), records, abort })
        }
        const rounds = Math.max(...groups.map(({ records }) => records.length))
        for (let i = 0; i < rounds; i++) {
          for (const { transaction, records } of open) {
            const record = records[i]
            if (record) await transaction.send(toSend(record))
          }
        }
        for (const { transaction, abort, producer } of open) {
          await (abort ? transaction.abort() : transaction.commit())
          await producer.disconnect()
        }
      },

      async openTransaction(records) {
        const producer = await transactional(`upstream-open-${++topics}`)
        const transaction = await producer.transaction()
        for (const record of records) await transaction.send(toSend(record))
        return {
          async commit() {
            await transaction.commit()
            await producer.disconnect()
          },
        }
      },

      async deleteRecords(topic, partition, before) {
        await admin.fetchTopicOffsets(topic) // so that kafkajs knows the topic
        await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
      },

      async addPartitions(topic, count) {
        await admin.createPartitions({ topicPartitions: [{ topic, count }] })
        await expect.poll(() => leadersOf(topic)).toBe(count) // kafkajs does not send to partitions without a leader
      },

      close: () => admin.disconnect(),
    }
  })
})

function toSend({ topic, key, value, partition }: OutgoingRecord) {
  return { topic, messages: [{ key, value, ...(partition !== undefined && { partition }) }] }
}
