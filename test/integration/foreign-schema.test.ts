import { expect, test } from 'vitest'
import type { AvroRecord } from '../../src/records/schemas.ts'
import { changedCommandSchema, long, recordOf } from '../records/codec.ts'
import { until } from '../support/bus.ts'
import { buildCommand, commandsFrom } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld, type World } from '../support/worker.ts'

/** Registers the schema, and returns its id. */
function register({ registry, settings }: World, schema: AvroRecord, name: string): Promise<number> {
  return registry.idOf(`${settings.topics.commands.at(-1)}-${name}`, schema)
}

/** The body of a command in the published schema. */
function bodyOf(world: World, id: bigint): Buffer {
  return Buffer.from(world.encode(buildCommand({ id, extra: { AAAAAA: '1' } })).subarray(5))
}

const insert = (body: Buffer, at: number, bytes: readonly number[]) =>
  Buffer.concat([body.subarray(0, at), Buffer.from(bytes), body.subarray(at)])

describeOnKafka('a worker that gets commands with fields named like properties of every JavaScript object', brokers => {
  test('sends or rejects them, answers its health check, and sends the commands beside them', async () => {
    const world = await startWorld({ brokers })
    const names = ['toString', '__proto__', 'constructor', 'hasOwnProperty']
    const ids = names.map((_, i) => BigInt(1000 + i))
    for (const [i, name] of names.entries()) {
      const inSms = changedCommandSchema(({ fields }) => {
        const message = fields.find(field => field.name === 'message')!.type as AvroRecord[]
        message[0]!.fields.unshift({ name, type: { type: 'map', values: 'string' }, doc: '' })
      })
      const sent = bodyOf(world, ids[i]!)
      const beginOfSms = [...long(ids[i]!), ...long(buildCommand().phone), 0].length
      const inSmsId = await register(world, inSms, `map-${name}`)
      await world.produceRaw(recordOf(inSmsId, insert(sent, beginOfSms, [2, 2, 97, 2, 98, 0])))

      const beforeExtra = changedCommandSchema(({ fields }) => {
        const at = fields.findIndex(field => field.name === 'extra')
        fields.splice(at, 0, { name, type: 'bytes', doc: '' })
      })
      const rejected = bodyOf(world, ids[i]! + 100n)
      const beginOfExtra = rejected.indexOf('AAAAAA') - 2
      Buffer.from(long(2n ** 40n)).copy(rejected, beginOfExtra + 2) // a key that is not UTF-8, and elsewhere a huge count
      const beforeExtraId = await register(world, beforeExtra, `bytes-${name}`)
      await world.produceRaw(recordOf(beforeExtraId, insert(rejected, beginOfExtra, [2, 0])))
      await world.send(commandsFrom(1 + 5 * i, 5))
    }
    await until(() => expect(world.results().filter(({ final }) => final)).toHaveLength(names.length * 7))
    for (const id of ids) {
      expect(world.resultOf(id).outcome).toBe('SENT')
      expect(world.resultOf(id + 100n)).toMatchObject({
        outcome: 'INVALID',
        error: expect.stringContaining('not UTF-8'),
      })
    }
    expect(world.deadLetters()).toEqual([])
    const { telemetry } = world.worker.ports
    expect((await fetch(`http://127.0.0.1:${telemetry}/healthz`)).status).toBe(200)
    await world.worker.close()
    const restarted = await world.startWorker()
    await until(() => expect(restarted.ready().ready).toBe(true))
  })
})
