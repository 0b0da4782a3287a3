import { Consumer } from '@platformatic/kafka'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Membership } from '../../src/bus/port.ts'
import { TestListener, until } from '../support/bus.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, openAdmin, plainKafka } from '../support/kafka.ts'
import { openWired } from '../support/wires.ts'

describeOnKafka('a group on Kafka', ({ brokers }) => {
  let names = 0

  /** A topic of two partitions, and processes that consume it. */
  async function buildGroup() {
    const groupId = `group-test-${Date.now().toString(36)}-${++names}`
    const topic = `${groupId}-commands`
    await createTopics(brokers, [{ topic, partitions: 2 }])
    const admin = await openAdmin(brokers)
    const open = (instanceId?: string) => {
      return { bus: openWired({ brokers, groupId, instanceId }).bus, listener: new TestListener() }
    }
    return {
      groupId,
      topic,
      open,
      async process(instanceId?: string) {
        const { bus, listener } = open(instanceId)
        const membership = await bus.join([topic], listener)
        onTestFinished(() => membership.leave(0))
        return { membership, listener }
      },
      addPartitions: (count: number) => admin.createPartitions({ topicPartitions: [{ topic, count }] }),
      members: async () => (await admin.describeGroups([groupId])).groups[0]!.members.length,
    }
  }

  /** Counts the partitions that processes own. */
  const owned = (...of: { membership: Membership }[]) => of.map(({ membership }) => [...membership.sessions()].length)

  test('admits no kafkajs consumer', async () => {
    const { topic, process, groupId } = await buildGroup()
    const a = await process()
    const refused = plainKafka(brokers).consumer({ groupId, retry: { retries: 0 } })
    onTestFinished(() => refused.disconnect())
    await refused.connect()
    await refused.subscribe({ topic })
    const crash = new Promise<Error>(resolve => refused.on('consumer.crash', ({ payload }) => resolve(payload.error)))
    await refused.run({ eachMessage: async () => {} })
    expect((await crash).message).toContain('protocols are incompatible')
    expect(owned(a)).toEqual([2])
  })

  /** Another program's consumers, by the protocol of their group. */
  const others = {
    classic: async (groupId: string, topic: string) => {
      const consumer = plainKafka(brokers).consumer({ groupId })
      await consumer.connect()
      await consumer.subscribe({ topic })
      const joined = new Promise(resolve => consumer.on('consumer.group_join', resolve))
      await consumer.run({ eachMessage: async () => {} })
      await joined
      return () => consumer.disconnect()
    },
    consumer: async (groupId: string, topic: string) => {
      const consumer = new Consumer({
        clientId: 'another',
        bootstrapBrokers: [...brokers],
        groupId,
        groupProtocol: 'consumer',
      })
      const stream = await consumer.consume({ topics: [topic], autocommit: false })
      stream.on('data', () => {})
      return async () => {
        await stream.close()
        await consumer.close(true)
      }
    },
  }

  test.each(['classic', 'consumer'] as const)(
    'waits while another program uses it with the protocol %s, says so, and is joined when that has left',
    async protocol => {
      const { topic, groupId, open } = await buildGroup()
      let leave: (() => Promise<void>) | null = await others[protocol](groupId, topic)
      onTestFinished(async () => void (await leave?.()))
      const { bus, listener } = open()
      await expect(bus.join([topic], listener)).rejects.toThrow(
        expect.objectContaining({
          name: 'BusUnavailable',
          message: expect.stringContaining('Another program uses this group'),
        }),
      )
      await leave()
      leave = null
      const membership = await vi.waitFor(() => bus.join([topic], listener), { timeout: 60_000 })
      onTestFinished(() => membership.leave(0))
      await until(() => expect(owned({ membership })).toEqual([2]))
    },
  )

  test('of static members does not rebalance when one restarts, and still notices added partitions', async () => {
    const { process, members, addPartitions } = await buildGroup()
    const leader = await process('one')
    const other = await process('two')
    await until(() => expect(owned(leader, other)).toEqual([1, 1]))
    await until(() => expect(other.listener.sessions.size).toBe(1))
    const resumed = vi.spyOn(other.listener, 'resumed')
    await leader.membership.leave(0)
    expect(await members()).toBe(2)
    const back = await process('one')
    await until(() => expect(back.listener.sessions.size).toBe(1))
    expect(resumed).not.toHaveBeenCalled()
    await addPartitions(3)
    await until(() => expect(owned(back, other).toSorted()).toEqual([1, 2]))
  })

  test('replaces a process by a later one with the same kafka.instanceId, and the first one says why', async () => {
    const { process } = await buildGroup()
    const first = await process('same')
    const second = await process('same')
    await until(() => expect(first.membership.trouble()).toContain('Another process has the same kafka.instanceId'))
    await until(() => expect(second.listener.sessions.size).toBe(2))
    expect(first.membership.hasLease()).toBe(false)
    expect(second.membership.trouble()).toBeNull()
  })
})
