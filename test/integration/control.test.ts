import { expect, test } from 'vitest'
import { keyOf } from '../../src/control/change.ts'
import { readControl } from '../../src/control/read.ts'
import { until } from '../support/bus.ts'
import { busgate } from '../support/cli.ts'
import { commandsFrom } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { openKafkajsProducer } from '../support/kafka.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('a stranger on the control topic', brokers => {
  test('who leaves a transaction open hides no pause and no withdrawal, from workers, starts and status', async () => {
    const world = await startWorld({ brokers })
    const env = environmentOf(world)
    const topic = world.settings.topics.control
    const producer = await openKafkajsProducer(brokers.brokers, {
      transactionalId: `${topic}-stranger`,
      transactionTimeout: 600_000,
    })
    const transaction = await producer.transaction()
    await transaction.send({ topic, messages: [{ key: 'nobody', value: 'never committed', partition: 0 }] })

    const withdrawn = await busgate(['withdraw', '--campaign', 'spring', '--reason', 'wrong price', '--yes'], { env })
    expect(withdrawn.stderr).toContain('campaign spring is withdrawn')
    expect(withdrawn.code).toBe(0)
    await until(() => expect(world.worker.ready().withdrawn).toHaveLength(1))
    expect((await busgate(['pause', '--tenant', 'acme', '--reason', 'a test'], { env })).code).toBe(0)
    const second = await world.startWorker()
    await until(() => expect(second.ready()).toMatchObject({ ready: true, warnings: [] }))
    expect([second.ready().paused.length, second.ready().withdrawn.length]).toEqual([1, 1])
    expect((await busgate(['status'], { env })).stdout).toContain('tenant acme is paused by ')
    await world.send(commandsFrom(1, 3, { campaign: 'spring' }))
    await world.finished(3)
    expect(world.results().map(({ errorCode }) => errorCode)).toEqual(['WITHDRAWN', 'WITHDRAWN', 'WITHDRAWN'])
    await transaction.abort()
  })

  test('who writes megabytes and rubbish neither stops a worker nor hides a pause', async () => {
    const world = await startWorld({ brokers })
    const topic = world.settings.topics.control
    const producer = await openKafkajsProducer(brokers.brokers, {})
    const at = new Date().toISOString()
    const bomb = JSON.stringify({ withdrawn: true, by: 'x', at, reason: 'A'.repeat(900_000) })
    const rubbish = ['', '[', 'null', '{"paused":1}', '['.repeat(100_000)]
    for (let i = 0; i < 30; i++) {
      await producer.send({ topic, messages: [{ key: `withdrawn/campaign/c${i}`, value: bomb, partition: 0 }] })
    }
    const keys = ['x', 'tenant/y', `tenant/${'z'.repeat(5_000)}`]
    const messages = keys.flatMap(key => rubbish.map(value => ({ key, value, partition: 0 })))
    await producer.send({ topic, messages })
    expect(
      (await busgate(['pause', '--tenant', 'acme', '--reason', 'a test'], { env: environmentOf(world) })).code,
    ).toBe(0)
    await until(() => expect(world.worker.ready().paused).toHaveLength(1))
    const { inForce } = await readControl(world.bus, world.settings)
    expect(inForce.map(keyOf)).toHaveLength(31)
    expect(inForce.every(({ reason }) => (reason?.length ?? 0) <= 500)).toBe(true)
    await world.send(commandsFrom(1, 3))
    await world.finished(3)
  })
})
