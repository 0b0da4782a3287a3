import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { busgate, type CliResult, jsonOf } from '../support/cli.ts'
import { buildCommand } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld } from '../support/worker.ts'

const kindsOf = (result: CliResult) => jsonOf(result).map(({ kind }) => kind)
const text = 'A text that nobody else may read'
const sms = (id: number, overrides: Parameters<typeof buildCommand>[0] = {}) =>
  buildCommand({
    id: BigInt(id),
    message: { 'io.busgate.Sms': { ...smsFields, sms_message: text } },
    ...overrides,
  })
const smsFields = { sms_signature: 'Shop', short_link: null, sms_lifetime: null, unsubscribe_link: null }
const phone = 380501234567
const withoutFunds = 380501234592

describeOnKafka('on a real Kafka', brokers => {
  test('message tells what became of a message, from command to verdict, without personal data', async () => {
    const world = await startWorld({ brokers, partitions: 3 })
    const env = environmentOf(world)
    // a status may be on the bus before its result, which waits for a commit
    world.receiver.answer = () => world.finished(3).then(() => undefined)
    await world.send([
      sms(1001, { correlationId: 'order-17', tenant: 'shop' }),
      sms(1002),
      sms(1003, { phone: withoutFunds }),
    ])
    await until(() => expect(world.statuses()).toHaveLength(2))
    await world.finished(3)

    const told = await busgate(['message', '1001'], { env })
    expect(told.stderr).toContain(`${world.settings.topics.results}/0: `)
    expect(told.code).toBe(0)
    expect(told.stdout).toMatch(
      / command +\S+\.commands\/\d@0 +sms for \*\*\*, account default, tenant shop, correlation order-17\n/,
    )
    expect(told.stdout).toMatch(/ result +\S+ +SENT as \S+, 1 part, 1 attempt, posted \S+, of \S+\.commands\/\d@0\n/)
    expect(told.stdout).toMatch(/ status +\S+ +DELIVERED, final, callback, verified.* ← the verdict\n/)
    expect(told.stdout).toMatch(/\nSent: the gateway accepted it \S+ as \S+\. Delivered \S+\.\n$/)

    for (const extra of [[], ['--json']]) {
      const { stdout, stderr } = await busgate(['message', '1001', ...extra], { env })
      expect(stdout + stderr).not.toContain(text)
      expect(stdout + stderr).not.toContain(String(phone))
    }
    const shown = await busgate(['message', '--id', '1001', '--reveal', '--json'], { env })
    expect(shown.stdout).toContain(text)
    expect(shown.stdout).toContain(String(phone))
    expect(kindsOf(shown)).toEqual(['command', 'result', 'status', 'conclusion', 'searched'])

    const refused = await busgate(['message', '1003'], { env })
    expect(refused.stdout).toMatch(
      /\nNot sent: the gateway refused it \(INSUFFICIENT_FUNDS: .*\)\. The operator tops up the account; if it is still /,
    )

    const correlated = await busgate(['message', '--correlation-id', 'order-17', '--json'], { env })
    expect(kindsOf(correlated)).toEqual(['command', 'result', 'status', 'conclusion', 'searched'])

    const other = await busgate(['message', '1001', '--tenant', 'bank'], { env })
    expect(other.code).toBe(1)
    const nothing = await busgate(['message', '9007199254740993'], { env })
    expect(nothing.code).toBe(1)
    expect(nothing.stdout).toContain('No trace of 9007199254740993')
    expect(nothing.stderr).toMatch(/\.commands \(3 partitions\): \d offsets/)
  })

  test('message finds a waiting command, whatever its key and partition, and a dead letter', async () => {
    const world = await startWorld({ brokers, partitions: 3 })
    const env = environmentOf(world)
    await world.send([sms(1)])
    await world.finished(1)
    await world.produceRaw(Buffer.from('garbage'), { key: Buffer.from('5') })
    await until(() => expect(world.deadLetters()).toHaveLength(1))
    await world.worker.close()
    await world.produceRaw(world.encode(sms(2)), { key: Buffer.from('customer-7'), partition: 2 })
    await world.produceRaw(world.encode(sms(3)), { key: null, partition: 1 })
    for (const id of ['2', '3']) {
      const waiting = await busgate(['message', id, '--json'], { env })
      expect(kindsOf(waiting)).toEqual(['command', 'conclusion', 'searched'])
      expect(jsonOf(waiting)[1].text).toMatch(/^Not sent yet: /)
    }
    const died = await busgate(['message', '5'], { env })
    expect(died.code).toBe(0)
    expect(died.stdout).toMatch(
      /\nNot sent: its record could not be read \(NOT_CONFLUENT: .*\)\. Its bytes stay unreadable: its producer must write it again\.\n$/,
    )
  })

  test('tail --until-end shows the records that match its filters, and ends', async () => {
    const world = await startWorld({ brokers })
    const env = environmentOf(world)
    await world.send([sms(1, { tenant: 'shop' }), sms(2), sms(3, { phone: withoutFunds, tenant: 'shop' })])
    await until(() => expect(world.statuses()).toHaveLength(2))
    await world.finished(3)
    const [first] = jsonOf(
      await busgate(['tail', 'results', '--id', '1', '--from-beginning', '--until-end', '--json'], { env }),
    )
    expect(first.place).toMatch(new RegExp(`^${world.settings.topics.results}/0@\\d+$`))
    const idsOf = async (...args: string[]) => {
      const result = await busgate(['tail', ...args, '--until-end', '--json'], { env })
      expect(result).toMatchObject({ code: 0, stderr: '' })
      return jsonOf(result)
        .map(({ id }) => id)
        .toSorted()
    }
    expect(await idsOf('results', '--since', '1h')).toEqual(['1', '2', '3'])
    expect(await idsOf('results', '--since', '1h', '--id', '2')).toEqual(['2'])
    expect(await idsOf('results', '--from-beginning', '--outcome', 'REJECTED', '--tenant', 'shop')).toEqual(['3'])
    expect(await idsOf('results', '--from-beginning', '--error-code', 'INSUFFICIENT_FUNDS')).toEqual(['3'])
    expect(await idsOf('results', '--from-beginning', '--limit', '2')).toHaveLength(2)
    expect(await idsOf('results', '--from-beginning', '--account', 'another')).toEqual([])
    expect(await idsOf('statuses', '--from-beginning', '--state', 'DELIVERED', '--type', 'sms')).toEqual(['1', '2'])
    expect(await idsOf('statuses', '--since', '0s')).toEqual([])
  })
})
