import { expect, onTestFinished, test, vi } from 'vitest'
import type { Membership } from '../../src/bus/port.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { TestListener, until } from '../support/bus.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, openAdmin, plainKafka } from '../support/kafka.ts'
import { openWired } from '../support/wires.ts'

describeOnKafka('a group on Kafka', ({ brokers }) => {
  let names = 0

  /** Two topics of two partitions, and processes that consume either or both. */
  async function buildGroup() {
    const groupId = `group-test-${Date.now().toString(36)}-${++names}`
    const topics = [`${groupId}-c1`, `${groupId}-c2`] as const
    await createTopics(
      brokers,
      topics.map(topic => ({ topic, partitions: 2 })),
    )
    const admin = await openAdmin(brokers)
    const open = ({ instanceId }: { instanceId?: string } = {}) => {
      const telemetry = new Telemetry()
      const warnings: string[] = []
      telemetry.on('bus.log', ({ level, message }) => level === 'warn' && warnings.push(message))
      const { bus } = openWired({ brokers, groupId, telemetry, instanceId })
      onTestFinished(() => bus.close())
      return { bus, warnings, listener: new TestListener() }
    }
    return {
      groupId,
      topics,
      open,
      async process(...consumed: string[]) {
        const { bus, warnings, listener } = open()
        const membership = await bus.join(consumed, listener)
        onTestFinished(() => membership.leave(0))
        return { membership, warnings, listener }
      },
      async staticProcess(instanceId: string, ...consumed: string[]) {
        const { bus, warnings, listener } = open({ instanceId })
        const membership = await bus.join(consumed, listener)
        onTestFinished(() => membership.leave(0))
        return { membership, warnings, listener }
      },
      addPartitions: (topic: string, count: number) => admin.createPartitions({ topicPartitions: [{ topic, count }] }),
      members: async () => (await admin.describeGroups([groupId])).groups[0]!.members.length,
    }
  }

  /** Names the topics that a process owns. */
  const owned = (membership: Membership) => [...membership.sessions()].map(({ topic }) => topic.slice(-2)).sort()

  test('lets no other program in that assigns as kafkajs does, nor joins one that it has', async () => {
    const { topics, process, groupId, open } = await buildGroup()
    const [c1] = topics
    const a = await process(c1)
    const stranger = (group: string) => plainKafka(brokers).consumer({ groupId: group, retry: { retries: 0 } })
    const refused = stranger(groupId)
    onTestFinished(() => refused.disconnect())
    await refused.connect()
    await refused.subscribe({ topic: c1 })
    const crash = new Promise<Error>(resolve => refused.on('consumer.crash', ({ payload }) => resolve(payload.error)))
    await refused.run({ eachMessage: async () => {} })
    expect((await crash).message).toContain('protocols are incompatible')
    expect(owned(a.membership)).toEqual(['c1', 'c1'])

    await a.membership.leave(0)
    const first = stranger(groupId)
    onTestFinished(() => first.disconnect())
    await first.connect()
    await first.subscribe({ topic: c1 })
    const joined = new Promise(resolve => first.on('consumer.group_join', resolve))
    await first.run({ eachMessage: async () => {} })
    await joined
    const { bus, listener } = open()
    await expect(bus.join([c1], listener)).rejects.toThrow('Another program uses this group')
  })

  test('of static members is not disturbed by one that comes back, and goes on to see partitions that are added', async () => {
    const { topics, staticProcess, members, addPartitions } = await buildGroup()
    const [c1] = topics
    const leader = await staticProcess('one', c1)
    const other = await staticProcess('two', c1)
    await until(() => expect([owned(leader.membership), owned(other.membership)]).toEqual([['c1'], ['c1']]))
    await until(() => expect(other.listener.sessions.size).toBe(1))
    const disturbed = vi.spyOn(other.listener, 'resumed')
    await leader.membership.leave(0)
    expect(await members()).toBe(2)
    const back = await staticProcess('one', c1)
    await until(() => expect(back.listener.sessions.size).toBe(1))
    expect(disturbed).not.toHaveBeenCalled()
    await addPartitions(c1, 3)
    await until(() => expect([...owned(back.membership), ...owned(other.membership)]).toHaveLength(3))
  })

  test('does not take two processes of one name: the later one is in, the other says why it is out', async () => {
    const { topics, staticProcess } = await buildGroup()
    const [c1] = topics
    const first = await staticProcess('same', c1)
    const second = await staticProcess('same', c1)
    await until(() => expect(first.membership.trouble()).toContain('Another process has the same kafka.instanceId'))
    await until(() => expect(second.listener.sessions.size).toBe(2))
    expect(first.membership.hasLease()).toBe(false)
    expect(second.membership.trouble()).toBeNull()
  })
})
