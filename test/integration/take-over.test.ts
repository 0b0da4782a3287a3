import { expect, onTestFinished, test } from 'vitest'
import { byTopic, txnOffsetCommit } from '../../src/bus/cluster/apis.ts'
import { RetryBudget } from '../../src/bus/cluster/retry-budget.ts'
import { initialiseProducer } from '../../src/bus/write/producer.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { TestListener, until } from '../support/bus.ts'
import { describeOnKafka, describeWithJava } from '../support/integration.ts'
import { createTopics, plainKafka } from '../support/kafka.ts'
import { startKafka } from '../support/local-kafka/kafka.ts'
import { noMember, openBrokers } from '../support/wire.ts'
import { openWireTap, type WireTap } from '../support/wire-tap.ts'
import { openWired } from '../support/wires.ts'

/** Counts the requests that come through it. */
async function openTapTo(address: string): Promise<{ tap: WireTap; requests: string[] }> {
  const tap = await openWireTap()
  onTestFinished(() => tap.close())
  tap.leadTo(address)
  const requests: string[] = []
  tap.addRule(({ kind, api }) => {
    if (kind === 'request') requests.push(api ?? 'other')
    return undefined
  })
  return { tap, requests }
}

describeOnKafka('partitions of a process that died', ({ brokers }) => {
  let names = 0

  async function buildGroup(partitions: number) {
    const topic = `take-over-${Date.now().toString(36)}-${++names}`
    await createTopics(brokers, [{ topic, partitions }])
    const open = (through?: (address: string) => string) => {
      const { bus, cut } = openWired({ brokers, groupId: topic, telemetry: new Telemetry(), through })
      onTestFinished(() => bus.close())
      return { bus, cut, listener: new TestListener() }
    }
    const join = async (through?: (address: string) => string) => {
      const process = open(through)
      const membership = await process.bus.join([topic], process.listener)
      return { ...process, membership }
    }
    return { topic, join }
  }

  test('are opened with fifty requests at most, sixty-four of them', async () => {
    const taps = new Map(await Promise.all(brokers.map(async address => [address, await openTapTo(address)] as const)))
    const { join } = await buildGroup(64)
    const dead = await join()
    await until(() => expect(dead.listener.sessions.size).toBe(64))
    const next = join(address => taps.get(address)!.tap.address)
    await until(() => expect(asked().JoinGroup).toBeGreaterThan(0))
    dead.cut()
    const { listener, membership } = await next
    await until(() => expect(listener.sessions.size).toBe(64))
    const { Fetch: _, Heartbeat: __, ...others } = asked()
    const count = Object.values(others).reduce((sum, one) => sum + one, 0)
    expect(count, JSON.stringify(others)).toBeLessThanOrEqual(50)
    await membership.leave(0)

    function asked(): Record<string, number> {
      const apis = [...taps.values()].flatMap(({ requests }) => requests)
      return Object.fromEntries([...Map.groupBy(apis, api => api)].map(([api, { length }]) => [api, length]))
    }
  })

  test('are not waited for though it died inside a transaction that holds their progress', async () => {
    const { topic, join } = await buildGroup(1)
    const producer = plainKafka(brokers).producer({
      transactionalId: `${topic}-process/dead`,
      maxInFlightRequests: 1,
      transactionTimeout: 60_000,
    })
    await producer.connect()
    onTestFinished(() => producer.disconnect())
    const transaction = await producer.transaction()
    const topics = [{ topic, partitions: [{ partition: 0, offset: '7' }] }]
    await transaction.sendOffsets({ consumerGroupId: topic, topics })
    const { listener, membership } = await join()
    await until(() => expect(listener.sessions.size).toBe(1))
    await membership.leave(0)
  })
})

describeWithJava('a broker', () => {
  test("that lost the end of a dead process's transaction holds its partitions up for half a minute, not for ever", async () => {
    // without the check, an offset can be written outside of a transaction, which nothing ends
    const kafka = await startKafka({ properties: () => ({ 'transaction.partition.verification.enable': 'false' }) })
    onTestFinished(() => kafka.stop())
    const topic = 'commands'
    await createTopics(kafka.brokers, [{ topic, partitions: 2 }])
    const brokers = openBrokers(kafka.brokers)
    const id = `${topic}-process/dead`
    const { identity } = await initialiseProducer(brokers, id, new RetryBudget(systemClock))
    const offsets = byTopic([{ topic, partition: 0 }], ({ partition }) => ({
      partitionIndex: partition,
      committedOffset: 7n,
      committedLeaderEpoch: -1,
      committedMetadata: '',
    }))
    await brokers.ask({ group: topic }, txnOffsetCommit, [
      ...([id, topic, identity.producerId, identity.epoch] as const),
      ...([noMember.generation, noMember.memberId, null, offsets] as const),
    ])
    const telemetry = new Telemetry()
    const told: string[] = []
    telemetry.on('bus.log', ({ message }) => told.push(message))
    const { bus } = openWired({ brokers: kafka.brokers, groupId: topic, telemetry })
    onTestFinished(() => bus.close())
    const listener = new TestListener()
    const membership = await bus.join([topic], listener)
    await until(() => expect(listener.sessions.size).toBe(2), 90_000)
    expect(told.filter(message => message.includes('lost the end of a transaction'))).toHaveLength(1)
    await membership.leave(0)
  }, 180_000)
})
