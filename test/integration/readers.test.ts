import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { schemas } from '../../src/records/schemas.ts'
import { recordOf } from '../records/codec.ts'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { commandsOf, outputOf, placesOf, prepare, runLine } from '../support/example-programs.ts'
import { startFront } from '../support/front.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld } from '../support/worker.ts'

const half = '\\ud83d'
const mark = '\ufffd'

interface Line {
  topic: string
  headers: Record<string, string>
  value: Record<string, unknown> | null
}

describeOnKafka('readers in other languages', brokers => {
  test('read all that came of half emojis and of foreign bytes, with the defaults of their libraries', {
    timeout: 300_000,
  }, async context => {
    const env = await prepare('python', context)
    const gateway = await startFront()
    const world = await startWorld({ brokers, settings: { gateway: { url: gateway.url } } })
    gateway.target = world.sandbox.url
    const { results, statuses, deadLetters, commands } = world.settings.topics

    // The gateway's own texts are cut: of a refusal, an id, a part that nobody takes, and of a callback.
    const hooks: string[] = []
    gateway.answer = ({ body }) => {
      const { data } = JSON.parse(body) as { data: { id: number; hook: string }[] }
      if (!data.some(({ id }) => id <= 2)) return undefined
      hooks.push(...data.map(({ hook }) => hook))
      const items = data.map(({ id }) =>
        id === 1
          ? `{"success":false,"error":"refused ${half}","data":{"id":1}}`
          : `{"success":true,"data":{"id":${id},"msg_id":"m${half}","parts":1,"note":"n${half}"}}`,
      )
      return { body: `{"success":true,"data":[${items.join(',')}]}` }
    }
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    await world.send([buildCommand({ id: 2n })])
    await world.finished(2)
    const callback = `{"success":false,"status":"REJECTED","error":"e${half}","replies":[{"message":"r${half}"}],"more":"x${half}"}`
    const answered = await fetch(hooks[1]!, { method: 'POST', body: callback })
    expect(answered.status).toBe(200)

    // The producers' bytes are none of UTF-8, or of another format.
    const withBytes = (id: bigint, text: number[]) => {
      const bytes = world.encode(buildCommand({ id }))
      Buffer.from(text).copy(bytes, bytes.indexOf('Your order'))
      return bytes
    }
    await world.produceRaw(withBytes(3n, [0xcf, 0xf0, 0xe8, 0xe2, 0xb3, 0xf2])) // windows-1251
    await world.produceRaw(withBytes(4n, [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80])) // CESU-8
    await world.produceRaw(Buffer.from([14, 2, 4]), { headers: { 'apicurio.value.globalId': Buffer.alloc(8, 1) } })
    await world.produceRaw(Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 7, 14, 2, 4]))

    // A writer whose schema is a union of references, and whose fields are nullable.
    const { body: command } = { body: world.encode(buildCommand({ id: 5n })).subarray(5) }
    const register = async (subject: string, json: object) => {
      const answer = await fetch(`${brokers.registryUrl}/subjects/${subject}/versions`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
        body: JSON.stringify(json),
      })
      expect(answer.status).toBe(200)
      return ((await answer.json()) as { id: number }).id
    }
    const subject = commands.at(-1)!
    await register(`${subject}-command`, { schema: JSON.stringify(schemas.command) })
    const other = { type: 'record', name: 'Other', namespace: 'shop', fields: [{ name: 'name', type: 'string' }] }
    await register(`${subject}-other`, { schema: JSON.stringify(other) })
    const union = await register(`${subject}-union`, {
      schema: JSON.stringify(['shop.Other', 'io.busgate.SendCommand']),
      references: [
        { name: 'shop.Other', subject: `${subject}-other`, version: 1 },
        { name: 'io.busgate.SendCommand', subject: `${subject}-command`, version: 1 },
      ],
    })
    await world.produceRaw(recordOf(union, Buffer.concat([Buffer.from([2]), command])))
    const nullable = structuredClone(schemas.command) as unknown as { fields: { name: string; type: unknown }[] }
    const id = nullable.fields.find(({ name }) => name === 'id')!
    expect(nullable.fields[0]).toBe(id)
    id.type = ['null', 'long']
    const nullableId = await register(`${subject}-nullable`, { schema: JSON.stringify(nullable) })
    await world.produceRaw(
      recordOf(nullableId, Buffer.concat([Buffer.from([2]), world.encode(buildCommand({ id: 6n })).subarray(5)])),
    )
    await world.finished(6)
    await until(() => expect(world.deadLetters()).toHaveLength(2))
    await until(() => expect(world.statuses().map(({ id }) => id)).toEqual(expect.arrayContaining([2n, 5n, 6n])))

    Object.assign(env, placesOf(brokers, world.settings))
    const readAll = `python3 ${import.meta.dirname}/../support/read_all.py ${results} ${statuses} ${deadLetters}`
    const lines: Line[] = (await runLine('python', readAll, { env }))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    if (process.env.SHOW) console.log(lines.map(line => JSON.stringify(line)).join('\n'))
    const of = (topic: string, wanted: number) =>
      lines.find(line => line.topic === topic && line.value?.id === wanted)?.value
    expect(of(results, 1)).toMatchObject({ outcome: 'REJECTED', error: `refused ${mark}` })
    expect(of(results, 2)).toMatchObject({ outcome: 'SENT', msgId: `m${mark}`, payload: `{"note":"n${mark}"}` })
    expect(of(statuses, 2)).toMatchObject({
      state: 'FAILED',
      error: `e${mark}`,
      replies: [{ message: `r${mark}` }],
      extra: `{"more":"x${mark}"}`,
    })
    for (const id of [3, 4])
      expect(of(results, id)).toMatchObject({ outcome: 'INVALID', error: 'sms_message is not UTF-8' })
    for (const id of [5, 6]) expect(of(results, id)).toMatchObject({ outcome: 'SENT' })
    const letters = lines.filter(({ topic }) => topic === deadLetters)
    expect(letters.map(({ headers }) => headers['busgate.error.message'])).toEqual([
      expect.stringContaining('apicurio.registry.use-id=contentId'),
      expect.stringContaining('apicurio.registry.use-id=contentId'),
    ])
    expect(world.sandbox.stats()).toMatchObject({ executed: 2 })

    const java = await prepare('java', context)
    const line = commandsOf('java').at(-1)!
    const printed = await outputOf('java', line, { env: { ...java, ...placesOf(brokers, world.settings) } })
    expect(printed.stdout).toMatch(/^1001 SENT /)
  })
})
