import { expect, test } from 'vitest'
import { recordOf } from '../records/codec.ts'
import { until } from '../support/bus.ts'
import { commandsFrom } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('the worker on Kafka', brokers => {
  test('a schema of 2^40 values, and one that the registry does not have, cost their own records alone', async () => {
    const world = await startWorld({ brokers })
    let inner: unknown = 'null'
    for (let level = 0; level < 40; level++) {
      const fields = [inner, level === 0 ? 'null' : `R${level - 1}`].map((type, n) => ({ name: `f${n}`, type }))
      inner = { type: 'record', name: `R${level}`, fields }
    }
    const bomb = { type: 'record', name: 'SendCommand', fields: [{ name: 'bomb', type: inner }] }
    const bombId = await world.registry.idOf(`${world.settings.topics.commands.at(-1)}-bomb-value`, bomb)
    await world.produceRaw(recordOf(bombId, Buffer.alloc(30)))
    await world.produceRaw(recordOf(987_654, Buffer.alloc(30)))
    await world.send(commandsFrom(1, 10))
    await world.finished(10)
    await until(() => expect(world.deadLetters()).toHaveLength(2), 30_000)
    const codes = world.deadLetters().map(({ headers }) => String(headers['busgate.error.code']))
    expect(codes.sort()).toEqual(['SCHEMA_INCOMPATIBLE', 'SCHEMA_NOT_FOUND'])
    expect((await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/readyz`)).status).toBe(200)
    await world.quiet()
  })
})
