import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { schemas } from '../../src/records/schemas.ts'
import { recordOf, withLong } from '../records/codec.ts'
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
  /** Of a dead letter its bytes, in hexadecimal. */
  value: Record<string, unknown> | string
}

describeOnKafka('readers in other languages', brokers => {
  test('read all that came of half emojis, foreign bytes and huge numbers, with the defaults of their libraries', {
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
    // Longs that no number of JavaScript holds: 18 digits are no phone, and the end of time is a deadline.
    const usual = 1_912_345_678_901
    const withUsual = (id: bigint, field: object) => world.encode({ ...buildCommand({ id }), ...field })
    await world.produceRaw(withLong(withUsual(7n, { phone: usual }), usual, 380501234567890123n))
    await world.produceRaw(withLong(withUsual(8n, { deadline: usual }), usual, 2n ** 63n - 1n))
    await world.finished(8)
    await until(() => expect(world.deadLetters()).toHaveLength(2))
    await until(() => expect(world.statuses().map(({ id }) => id)).toEqual(expect.arrayContaining([2n, 5n, 6n, 8n])))

    Object.assign(env, placesOf(brokers, world.settings))
    const support = `${import.meta.dirname}/../support`
    const topics = `${results} ${statuses} ${deadLetters}`
    const java = { ...(await prepare('java', context)), ...placesOf(brokers, world.settings) }
    const printed = await outputOf('java', commandsOf('java').at(-1)!, { env: java })
    expect(printed.stdout).toMatch(/^1001 SENT /)
    const reads = {
      python: await runLine('python', `python3 ${support}/read_all.py ${topics}`, { env }),
      java: await runLine(
        'java',
        `mvn -q exec:exec -Dexec.executable=java -Dexec.args="-cp %classpath ${support}/ReadAll.java ${topics}"`,
        { env: java },
      ),
    }
    for (const [language, text] of Object.entries(reads)) {
      const lines: Line[] = text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      if (process.env.SHOW) console.log(language, lines.map(line => JSON.stringify(line)).join('\n'))
      const of = (topic: string, wanted: number) =>
        lines
          .filter(line => line.topic === topic)
          .map(({ value }) => value)
          .find(value => typeof value === 'object' && value.id === wanted)
      expect(of(results, 1), language).toMatchObject({ outcome: 'REJECTED', error: `refused ${mark}` })
      expect(of(results, 2), language).toMatchObject({
        outcome: 'SENT',
        msgId: `m${mark}`,
        payload: `{"note":"n${mark}"}`,
      })
      expect(of(statuses, 2), language).toMatchObject({
        state: 'FAILED',
        error: `e${mark}`,
        replies: [{ message: `r${mark}` }],
        extra: `{"more":"x${mark}"}`,
      })
      for (const id of [3, 4])
        expect(of(results, id), language).toMatchObject({ outcome: 'INVALID', error: 'sms_message is not UTF-8' })
      expect(of(results, 7), language).toMatchObject({ outcome: 'INVALID', error: expect.stringMatching(/^phone /) })
      for (const id of [5, 6, 8]) expect(of(results, id), language).toMatchObject({ outcome: 'SENT' })
      const letters = lines.filter(({ topic }) => topic === deadLetters)
      expect(letters.map(({ headers, value }) => [headers['busgate.error.message'], value])).toEqual([
        [expect.stringContaining('apicurio.registry.use-id=contentId'), '0e0204'],
        [expect.stringContaining('apicurio.registry.use-id=contentId'), '0000000000000000070e0204'],
      ])
    }
    expect(world.sandbox.stats()).toMatchObject({ executed: 4 })
  })
})
