import { describe, expect, test, vi } from 'vitest'
import { parseJson } from '../../src/protocol/index.ts'
import { until } from '../support/bus.ts'
import { buildCommandOf, commandsFrom } from '../support/commands.ts'
import { type Front, startFront } from '../support/front.ts'
import { startWorld, type World, type WorldOptions } from '../support/worker.ts'

/** A world whose requests to the gateway can be looked at. */
async function watchedWorld(gatewaySettings: object, options: WorldOptions = {}): Promise<World & { gateway: Front }> {
  const gateway = await startFront()
  const world = await startWorld({ ...options, settings: { gateway: { url: gateway.url, ...gatewaySettings } } })
  gateway.target = world.sandbox.url
  return { ...world, gateway }
}

interface SentOperation {
  id: number
  type: string
}

const operationsOf = ({ body }: { body: string }) => (parseJson(body) as { data: SentOperation[] }).data
const envelopes = ({ passed }: Front) => passed.map(one => operationsOf(one).map(({ id }) => id))

const codes = (count: number, from: number) =>
  Array.from({ length: count }, (_, i) => buildCommandOf('call/otp', { id: BigInt(from + i) }))

describe('an envelope', () => {
  test('holds as many commands as wait, in their order', async () => {
    const { gateway, send, finished } = await watchedWorld({})
    await send(commandsFrom(1, 20))
    await finished(20)
    expect(envelopes(gateway)).toEqual([Array.from({ length: 20 }, (_, i) => i + 1)])
  })

  test('never holds more than gateway.maxOperations', async () => {
    const { gateway, send, finished } = await watchedWorld({ maxOperations: 7 })
    await send(commandsFrom(1, 30))
    await finished(30)
    const sizes = envelopes(gateway).map(ids => ids.length)
    expect(sizes.sort()).toEqual([2, 7, 7, 7, 7])
  })

  test('is never longer than gateway.maxBytes, and no shorter than it has to be', async () => {
    const { gateway, send, finished } = await watchedWorld({ maxBytes: 4096 })
    await send(commandsFrom(1, 40))
    await finished(40)
    const lengths = gateway.passed.map(({ body }) => Buffer.byteLength(body))
    expect(Math.max(...lengths)).toBeLessThanOrEqual(4096)
    const longest = Math.max(...gateway.passed.flatMap(one => operationsOf(one).map(o => JSON.stringify(o).length)))
    const full = lengths.filter(length => length + 1 + longest > 4096)
    expect(full.length).toBeGreaterThanOrEqual(lengths.length - 1)
  })

  test('is measured in bytes, not in characters', async () => {
    const { gateway, send, finished } = await watchedWorld({ maxBytes: 4096 })
    await send(
      Array.from({ length: 20 }, (_, i) =>
        buildCommandOf('sms', { id: BigInt(i + 1) }, { sms_message: 'Замовлення готове 🎉'.repeat(10) }),
      ),
    )
    await finished(20)
    for (const { body } of gateway.passed) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(4096)
  })

  test('holds a call/otp alone', async () => {
    const { gateway, send, finished } = await watchedWorld({})
    await send([...commandsFrom(1, 3), ...codes(3, 11), ...commandsFrom(21, 3)])
    await finished(9)
    const found = envelopes(gateway)
    for (const id of [11, 12, 13]) expect(found).toContainEqual([id])
    expect(found.flat().sort((a, b) => a - b)).toEqual([1, 2, 3, 11, 12, 13, 21, 22, 23])
  })

  test('never mixes accounts', async () => {
    const { gateway, send, finished, sandbox } = await watchedWorld(
      { accounts: { shop: { apiKey: 'shop-key' } } },
      { sandbox: { keys: { default: 'sandbox-key', shop: 'shop-key' } } },
    )
    await send(commandsFrom(1, 10).map((command, i) => ({ ...command, account: i % 2 ? 'shop' : 'default' })))
    await finished(10)
    expect(envelopes(gateway).sort()).toEqual([
      [1, 3, 5, 7, 9],
      [2, 4, 6, 8, 10],
    ])
    expect(sandbox.stats().accounts).toMatchObject({ default: { executed: 5 }, shop: { executed: 5 } })
  })
})

describe('a command on its own', () => {
  test('waits for gateway.lingerMs, and whoever comes meanwhile goes with it', async () => {
    const { gateway, send, finished, worker } = await watchedWorld({ lingerMs: 1_000 })
    const consumed = vi.fn()
    worker.telemetry.on('commands.consumed', consumed)
    await send(commandsFrom(1, 1))
    await until(() => expect(consumed).toHaveBeenCalledTimes(1))
    await send(commandsFrom(2, 1))
    await finished(2)
    expect(envelopes(gateway)).toEqual([[1, 2]])
  })

  test('does not wait when the envelope is full', async () => {
    const { gateway, send, finished } = await watchedWorld({ lingerMs: 60_000, maxOperations: 3 })
    await send(commandsFrom(1, 3))
    await finished(3)
    expect(envelopes(gateway)).toEqual([[1, 2, 3]])
  })

  test('does not wait when it is a call/otp', async () => {
    const { gateway, send, finished } = await watchedWorld({ lingerMs: 60_000 })
    await send(codes(1, 1))
    await finished(1)
    expect(envelopes(gateway)).toEqual([[1]])
  })
})

describe('when more waits than may be sent', () => {
  test('everything urgent goes first', async () => {
    const { gateway, send, finished, settings } = await watchedWorld({ rate: 20, maxOperations: 5 })
    const [urgent] = settings.topics.commands
    // All of it is there before the first second begins in which this worker may send.
    await send(commandsFrom(101, 10))
    await send(commandsFrom(1, 10), urgent)
    await finished(20)
    const order = envelopes(gateway).flat()
    expect(order.slice(0, 10).sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, i) => i + 1))
  })

  test('every partition has its turn', async () => {
    // a gateway that answers at once would get what is prepared of the partition that was read first
    const slow = { partitions: 3, sandbox: { latencyMs: 40 } }
    const { gateway, send, finished } = await watchedWorld({ maxOperations: 1, concurrency: 1 }, slow)
    await send(commandsFrom(1, 24))
    const results = await finished(24)
    const partitionOf = new Map(results.map(({ id, commandPartition }) => [Number(id), commandPartition]))
    const first = envelopes(gateway).flat().slice(0, 6)
    expect(new Set(first.map(id => partitionOf.get(id)))).toEqual(new Set([0, 1, 2]))
  })

  test('no more than gateway.concurrency requests are in flight, the last of them for the urgent topic only', async () => {
    const world = await watchedWorld({ maxOperations: 1, concurrency: 3 }, { sandbox: { latencyMs: 40 } })
    const inFlight = () =>
      world.gateway.passed.map(
        ({ at }) => world.gateway.passed.filter(other => other.at <= at && at < other.answeredAt).length,
      )
    await world.send(commandsFrom(1, 12))
    await world.finished(12)
    expect(Math.max(...inFlight())).toBe(2)
    const urgent = commandsFrom(1, 24).slice(12)
    await world.send(urgent.slice(0, 8))
    await world.send(urgent.slice(8), world.settings.topics.commands[0])
    await world.finished(24)
    expect(Math.max(...inFlight())).toBe(3)
  })
})
