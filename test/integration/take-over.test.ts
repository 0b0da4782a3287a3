import { expect, onTestFinished, test } from 'vitest'
import { TestListener, until } from '../support/bus.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics } from '../support/kafka.ts'
import { openWireTap, type WireTap } from '../support/wire-tap.ts'
import { openWired } from '../support/wires.ts'

/** Opens a proxy to a broker, and collects the names of the requests that go through it. */
async function openTapTo(address: string): Promise<{ tap: WireTap; requests: string[] }> {
  const tap = await openWireTap()
  onTestFinished(() => tap.close())
  tap.forwardTo(address)
  const requests: string[] = []
  tap.addRule(({ kind, api }) => {
    if (kind === 'request') requests.push(api ?? 'other')
    return undefined
  })
  return { tap, requests }
}

describeOnKafka('partitions of a process that died', ({ brokers }) => {
  /** @returns a function that lets a process join, perhaps through proxies */
  async function buildGroup(partitions: number) {
    const topic = `take-over-${Date.now().toString(36)}`
    await createTopics(brokers, [{ topic, partitions }])
    return async (through?: (address: string) => string) => {
      const { bus, cut } = openWired({ brokers, groupId: topic, through })
      const listener = new TestListener()
      return { cut, listener, membership: await bus.join([topic], listener) }
    }
  }

  test('are taken over with at most fifty requests, if they are 64', async () => {
    const taps = new Map(await Promise.all(brokers.map(async address => [address, await openTapTo(address)] as const)))
    const join = await buildGroup(64)
    const dead = await join()
    await until(() => expect(dead.listener.sessions.size).toBe(64))
    const next = join(address => taps.get(address)!.tap.address)
    await until(() => expect(countRequests().JoinGroup).toBeGreaterThan(0))
    dead.cut()
    const { listener, membership } = await next
    await until(() => expect(listener.sessions.size).toBe(64))
    const { Fetch: _, Heartbeat: __, ...others } = countRequests()
    const count = Object.values(others).reduce((sum, one) => sum + one, 0)
    expect(count, JSON.stringify(others)).toBeLessThanOrEqual(50)
    await membership.leave(0)

    function countRequests(): Record<string, number> {
      const apis = [...taps.values()].flatMap(({ requests }) => requests)
      return Object.fromEntries([...Map.groupBy(apis, api => api)].map(([api, { length }]) => [api, length]))
    }
  })
})
