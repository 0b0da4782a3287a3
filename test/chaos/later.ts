import { setTimeout as pause } from 'node:timers/promises'
import { Kafka } from 'kafkajs'
import { idOf } from './load.ts'
import { makeFaults } from './mixed-faults.ts'
import { latencyMs, type Scenario, type Scene } from './scene.ts'

/** From the end of the load until the first of the waiting commands is due, and from then until the last one is. */
const untilDueMs = 20_000
const dueWithinMs = 10_000
/** The workers' clocks are right, and the gateway is on the same machine. */
const mostEarlyMs = 100
/** The load is slower than its rate while the brokers are down. */
const reserveMs = 60_000

/** The first commands wait until some time after the load. None may be executed before. */
export function later(count: number): Scenario {
  let start = 0
  const dueFrom = () => {
    start ||= Date.now() + untilDueMs + reserveMs
    return start
  }
  return {
    latencyMs,
    forbidden: [],
    hasRightClocks: true,
    vary: index => (index < count ? { notBefore: new Date(dueFrom() + ((index * 7919) % dueWithinMs)) } : {}),
    async play(scene, load) {
      let isOver = false
      const faults = makeFaults(scene, () => isOver)
      await load.reached(1)
      await addPartitions(scene)
      const from = dueFrom()
      await pause(Math.max(0, from - mostEarlyMs - Date.now()))
      const early = Array.from({ length: count }, (_, index) => index).filter(
        index => scene.sandbox.executions(idOf(index), load.accountOf(index)) > 0,
      )
      scene.say(`${count - early.length} of ${count} wait until ${new Date(from).toISOString()}`)
      if (early.length > 0) throw new Error(`${early.length} commands were sent before their time`)
      await pause(Math.max(0, from + dueWithinMs - Date.now()))
      isOver = true
      return faults
    },
  }
}

/** After the load: a repeated send could go to another partition, where nobody knows its id. */
async function addPartitions({ stage, kafka, say }: Scene): Promise<void> {
  const { commands, later } = stage.settings.topics
  const admin = new Kafka({ brokers: [...kafka.brokers], logLevel: 0 }).admin()
  await admin.connect()
  for (const topic of [...commands, later]) {
    const count = (await stage.bus.partitions([topic])).get(topic)! + 2
    say(`${topic} gets ${count} partitions`)
    await admin.createPartitions({ topicPartitions: [{ topic, count }] })
  }
  await admin.disconnect()
}
