import net from 'node:net'
import kafkajs from 'kafkajs'
import { KafkaBus } from '../../src/bus/kafka/bus.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { busContract } from '../bus/contract.ts'
import type { BusHarness } from '../support/bus.ts'
import { describeOnKafka } from '../support/integration.ts'

describeOnKafka('on Kafka', ({ brokers }) => {
  busContract('the Kafka bus', async (): Promise<BusHarness> => {
    const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING, retry: { initialRetryTime: 20 } })
    const run = Date.now().toString(36)
    const busses = new Set<KafkaBus>()
    const admin = kafka.admin()
    await admin.connect()
    let topics = 0

    async function transactional(id: string) {
      const producer = kafka.producer({ transactionalId: id, maxInFlightRequests: 1 })
      await producer.connect()
      return producer
    }

    return {
      async topic(name, partitions) {
        const topic = `bus-test-${run}-${name}-${++topics}`
        await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] })
        return topic
      },

      async process(groupId) {
        const telemetry = new Telemetry()
        if (process.env.BUS_DEBUG) {
          for (const name of [
            'session.opened',
            'session.lost',
            'session.openFailed',
            'bus.log',
            'bus.crashed',
          ] as const) {
            telemetry.on(name, (event: unknown) =>
              console.log(new Date().toISOString().slice(14), groupId, name, event),
            )
          }
        }
        const wires = new Set<net.Socket>()
        let cut = false
        const bus = new KafkaBus({
          brokers,
          clientId: 'busgate-test',
          groupId,
          sessionTimeoutMs: 6000,
          rebalanceTimeoutMs: 15_000,
          drainMs: 2000,
          startFrom: 'earliest',
          clock: systemClock,
          telemetry,
          socketFactory: ({ host, port, onConnect }) => {
            const socket = net.connect({ host, port }, onConnect)
            if (cut) socket.destroy(new Error('the wire is cut'))
            wires.add(socket.once('close', () => wires.delete(socket)))
            return socket
          },
        })
        busses.add(bus)
        return {
          bus,
          telemetry,
          async crash() {
            cut = true
            for (const socket of wires) socket.destroy()
          },
        }
      },

      async fence(groupId, topic, partition) {
        const producer = await transactional(`${groupId}-${topic}-${partition}`)
        await (await producer.transaction()).abort()
        await producer.disconnect()
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

      async close() {
        await admin.disconnect()
        await Promise.all([...busses].map(bus => bus.close().catch(() => {})))
      },
    }
  })
})

function toSend({ topic, key, value, partition }: OutgoingRecord) {
  return { topic, messages: [{ key, value, ...(partition !== undefined && { partition }) }] }
}
