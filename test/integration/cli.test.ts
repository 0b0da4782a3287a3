import { expect, onTestFinished, test } from 'vitest'
import { openBus } from '../../src/bus/open.ts'
import type { BusRecord } from '../../src/bus/port.ts'
import { loadSettings } from '../../src/config/index.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { registryOf } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { busgate, busgateHere, jsonOf, startBusgate } from '../support/cli.ts'
import { buildCommand } from '../support/commands.ts'
import { buildEnvironment } from '../support/environment.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { createTopics, openKafkajsProducer } from '../support/kafka.ts'

/** The environment of one test, with its own topics, group and gateway. */
async function environmentWithGateway(brokers: Brokers) {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  return { ...buildEnvironment(brokers), BUSGATE_GATEWAY_URL: sandbox.url, BUSGATE_TELEMETRY_PORT: '0' }
}

const message = { sms_message: 'Hello', sms_signature: 'Shop' }
const lineOf = (command: object) => `${JSON.stringify({ phone: 380501234567, type: 'sms', message, ...command })}\n`

describeOnKafka('the command line on a real Kafka', brokers => {
  test('topics create, send, run and tail results take a command from its input line to its result', async () => {
    const env = await environmentWithGateway(brokers)
    const created = await busgate(['topics', 'create', '--partitions', '2', '--json'], { env })
    expect(created.stderr).toBe('')
    expect(jsonOf(created)).toContainEqual({
      topic: env.BUSGATE_TOPICS_RESULTS,
      state: 'created',
      partitions: 2,
      replicas: expect.any(Number),
      what: expect.stringMatching(/^2 partitions, \d replicas?, kept 7 days$/),
    })

    const input = `${lineOf({ id: 1 })}\n{"id":9007199254740993,${lineOf({ phone: 380501234592 }).slice(1)}`
    expect(await busgate(['send'], { env, input })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Wrote 2'),
    })
    const first = await busgate(['run'], { env })
    expect(first.code).toBe(1)
    expect(first.stderr + first.stdout).toContain('set kafka.startFrom (BUSGATE_KAFKA_START_FROM) to earliest')
    const run = startBusgate(['run'], { env: { ...env, BUSGATE_KAFKA_START_FROM: 'earliest' } })
    const tail = await busgate(['tail', 'results', '--from-beginning', '--limit', '2', '--json'], { env })
    expect(tail.code).toBe(0)
    expect(tail.stdout).toMatch(/"id":"1",.*"outcome":"SENT"/)
    expect(tail.stdout).toMatch(/"id":"9007199254740993",.*"errorCode":"INSUFFICIENT_FUNDS"/)
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })

  test('send --wait prints the final result of each message, and exits 0 only if all were sent', async () => {
    const env = await environmentWithGateway(brokers)
    await busgate(['topics', 'create'], { env })
    startBusgate(['run'], { env: { ...env, BUSGATE_KAFKA_START_FROM: 'earliest' } })
    const flags = ['--phone', '380501234567', '--type', 'sms', '--message', JSON.stringify(message), '--deadline', '3d']
    const one = await busgate(['send', '--id', '9007199254740993', ...flags, '--wait'], { env })
    expect(one).toMatchObject({ code: 0, stderr: 'Wrote 1 command.\n1 of 1 message SENT.\n' })
    expect(one.stdout).toMatch(/^\S+Z {2}9007199254740993 {2}sms {2}SENT {2}\S+\n$/)

    const input = [lineOf({ id: 2 }), lineOf({ id: 3, phone: 380501234592 }), lineOf({ id: 2 })].join('')
    const several = await busgate(['send', '--wait', '--json', '--timeout', '5m'], { env, input })
    expect(several).toMatchObject({ code: 1, stderr: 'Wrote 3 commands.\n1 of 2 messages SENT.\n' })
    const outcomes = jsonOf(several).map(({ id, outcome, errorCode }) => [id, outcome, errorCode])
    expect(outcomes.toSorted()).toEqual([
      ['2', 'SENT', null],
      ['3', 'REJECTED', 'INSUFFICIENT_FUNDS'],
    ])
  })

  test('send --wait ends after its time-out, and says where each message is', async () => {
    const env = await environmentWithGateway(brokers)
    await busgate(['topics', 'create'], { env })
    const input = lineOf({ id: 1 }) + lineOf({ id: 2 })
    const { code, stdout, stderr } = await busgate(['send', '--wait', '--timeout', '100ms'], { env, input })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    for (const id of ['1', '2'])
      expect(stderr).toContain(`busgate message ${id} --account default shows where the message is`)
    expect(stderr).toContain('\n0 of 2 messages SENT, 2 without a final result.\n')
  })

  test('topics create leaves existing topics as they are', async () => {
    const env = await environmentWithGateway(brokers)
    await createTopics(brokers.brokers, [{ topic: env.BUSGATE_TOPICS_DOUBTS, partitions: 3 }])
    const first = jsonOf(await busgate(['topics', 'create', '--json'], { env }))
    const made = Object.fromEntries(first.map(({ topic, state, partitions }) => [topic, `${state} ${partitions}`]))
    const [urgent, bulk] = env.BUSGATE_TOPICS_COMMANDS.split(',')
    expect(made).toEqual({
      [urgent!]: 'created 3',
      [bulk!]: 'created 3',
      [env.BUSGATE_TOPICS_DOUBTS]: 'exists 3',
      [env.BUSGATE_TOPICS_RESULTS]: 'created 3',
      [env.BUSGATE_TOPICS_STATUSES]: 'created 3',
      [env.BUSGATE_TOPICS_LATER]: 'created 3',
      [env.BUSGATE_TOPICS_OVERDUE]: 'created 3',
      [env.BUSGATE_TOPICS_CONTROL]: 'created 1',
      [env.BUSGATE_TOPICS_HISTORY]: 'created 1',
      [env.BUSGATE_TOPICS_WORKERS]: 'created 1',
      [env.BUSGATE_TOPICS_DEAD_LETTERS]: 'created 3',
    })
    const second = await busgate(['topics', 'create'], { env })
    expect(second).toMatchObject({ code: 0, stderr: '' })
    expect(second.stdout).not.toContain('created')
    const more = await busgate(['topics', 'create', '--partitions', '6'], { env })
    expect(more.stdout).toContain(`exists   ${env.BUSGATE_TOPICS_DOUBTS}  3 partitions`)
  })

  test('topics create says which topic the brokers refuse, and what to change', async () => {
    const env = await environmentWithGateway(brokers)
    const { code, stdout, stderr } = await busgate(['topics', 'create', '--replication', '9'], { env })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('cannot be created: Replication-factor is invalid (INVALID_REPLICATION_FACTOR)')
    expect(stderr).toMatch(
      /: change --partitions or --replication; .* kafka-topics\.sh --bootstrap-server \S+ --create --topic \S+ --partitions 12 --replication-factor 9 --config /,
    )
  })

  test('schemas register sets the compatibility levels, and schemas check finds nothing more to do', async () => {
    const env = await environmentWithGateway(brokers)
    const before = await busgate(['schemas', 'check'], { env })
    expect(before.code).toBe(1)
    expect(before.stdout).toContain(`differs     ${env.BUSGATE_TOPICS_RESULTS}-value  is not registered`)
    const registered = await busgate(['schemas', 'register', '--json'], { env })
    expect(registered.code).toBe(0)
    expect(jsonOf(registered).map(({ state, version, level }) => [state, version, level])).toEqual([
      ['registered', 1, 'BACKWARD_TRANSITIVE'],
      ['registered', 1, 'BACKWARD_TRANSITIVE'],
      ['registered', 1, 'FULL_TRANSITIVE'],
      ['registered', 1, 'FULL_TRANSITIVE'],
      ['registered', 1, 'FULL_TRANSITIVE'],
    ])
    const again = jsonOf(await busgate(['schemas', 'register', '--json'], { env }))
    expect(new Set(again.map(({ state }) => state))).toEqual(new Set(['ok']))
    expect((await busgate(['schemas', 'check'], { env })).code).toBe(0)
  })

  test('send names the line with an error, and writes nothing of its batch', async () => {
    const env = await environmentWithGateway(brokers)
    await busgate(['topics', 'create'], { env })
    const input = lineOf({ id: 1 }) + lineOf({ id: 2, message: { sms_mesage: 'Hello' } })
    const { code, stderr } = await busgate(['send'], { env, input })
    expect(code).toBe(1)
    expect(stderr).toContain('line 2: sms_mesage is no field of sms; the nearest is sms_message')
    expect(stderr).toContain('nothing was written from line 1 on')
  })

  test('send refuses a number in a line that could be another than the one meant, and names its field', async () => {
    const env = await environmentWithGateway(brokers)
    await busgate(['topics', 'create'], { env })
    const seconds = Math.round(Date.now() / 1000) + 3600
    for (const [field, value, why] of [
      ['phone', '1e400', 'digits only'],
      ['phone', '3.80501E+11', 'without exponent or point'],
      ['phone', '380501234567.0', 'without exponent or point'],
      ['phone', '671234567', 'with a country code'],
      ['id', '1e400', 'a whole number from 1 to 2^63-1'],
      ['id', '1e3', 'no id as text, with an exponent or a point'],
      ['id', '9223372036854775808', 'a whole number from 1 to 2^63-1'],
      ['deadline', String(seconds), 'not seconds'],
    ] as const) {
      const numbers = Object.entries({ id: '1', phone: '380501234567', [field]: value })
      const fields = [...numbers, ['type', '"sms"'], ['message', JSON.stringify(message)]]
      const input = `{${fields.map(([name, text]) => `"${name}":${text}`).join(',')}}\n`
      const { code, stderr } = await busgateHere(['send'], { env, input })
      expect(stderr).toMatch(
        new RegExp(`^busgate: line 1: ${field} must be .*\\(nothing was written from line 1 on\\)\n$`),
      )
      expect(stderr).toContain(why)
      expect(code).toBe(1)
    }
  })

  test('send refuses input that is not UTF-8, and ignores a byte order mark, empty lines and CRLF', async () => {
    const env = await environmentWithGateway(brokers)
    await busgate(['topics', 'create'], { env })
    const cyrillic = lineOf({ id: 3, message: { sms_message: 'При', sms_signature: 'Shop' } })
    const latin = Buffer.from(lineOf({ id: 2, message: { sms_message: 'caf\u00e9', sms_signature: 'Shop' } }), 'latin1')
    const { code, stderr } = await busgate(['send'], { env, input: latin })
    expect(stderr).toContain('standard input is not UTF-8: save it as UTF-8 (nothing was written from line 1 on)')
    expect(code).toBe(1)
    const input = `\ufeff${lineOf({ id: 1 }).trimEnd()}\r\n\r\n${cyrillic.trimEnd()}\r\n`
    expect(await busgate(['send'], { env, input })).toMatchObject({ code: 0, stderr: 'Wrote 2 commands.\n' })
  })

  test('tail says how to create a topic that does not exist', async () => {
    const { code, stderr } = await busgate(['tail', 'statuses'], { env: await environmentWithGateway(brokers) })
    expect(code).toBe(1)
    expect(stderr).toContain('busgate topics create')
  })
})

describeOnKafka('dead letters on a real Kafka', brokers => {
  /** Creates topics, and writes dead letters as a worker and a receiver do. */
  async function writeDeadLetters() {
    const env = await environmentWithGateway(brokers)
    await busgate(['topics', 'create', '--partitions', '1'], { env })
    const [, commands = ''] = env.BUSGATE_TOPICS_COMMANDS.split(',')
    const producer = await openKafkajsProducer(brokers.brokers)
    const origin = (offset: number, code: string) => ({
      'busgate.error.stage': 'decode',
      'busgate.error.code': code,
      'busgate.error.message': 'why',
      'busgate.error.topic': commands,
      'busgate.error.partition': '0',
      'busgate.error.offset': String(offset),
      'busgate.error.timestamp': String(Date.now()),
    })
    const encode = await createEncoder<SendCommand>(
      `${commands}-value`,
      schemas.command,
      registryOf(loadSettings({ env })),
    )
    const value = encode(buildCommand({ id: 7n }))
    await producer.send({
      topic: env.BUSGATE_TOPICS_DEAD_LETTERS,
      messages: [
        { key: '1', value, headers: { ...origin(5, 'SCHEMA_NOT_FOUND'), traceparent: '00-1-2-01' } },
        { key: '2', value: Buffer.from([9, 8, 255]), headers: origin(6, 'NOT_CONFLUENT') },
        { key: '3', value: null, headers: origin(7, 'NO_VALUE') },
        {
          value: '{"success":true,"id":"abc","text":"Hello 380501234567"}',
          headers: { 'busgate.error.stage': 'callback', 'busgate.error.code': 'FOREIGN_ID' },
        },
      ],
    })
    return { env, commands, value }
  }

  test('are shown by dlq list with filters, the newest last', async () => {
    const { env, commands } = await writeDeadLetters()
    const { code, stdout, stderr } = await busgate(['dlq', 'list'], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '4 dead letters.\n' })
    expect(stdout).toMatch(new RegExp(`^0@0  \\S+Z  decode  SCHEMA_NOT_FOUND  ${commands}/0@5  why$`, 'm'))
    expect(stdout).toMatch(/^0@3 {2}\S+Z {2}callback {2}FOREIGN_ID$/m)
    const newest = await busgate(['dlq', 'list', '--stage', 'decode', '--limit', '1', '--json'], { env })
    expect(jsonOf(newest)).toMatchObject([{ at: '0@2', code: 'NO_VALUE', origin: `${commands}/0@7` }])
    expect(newest.stderr).toBe('1 dead letter; 2 older left out; --limit N shows more.\n')
    expect((await busgate(['dlq', 'list', '--topic', 'another'], { env })).stdout).toBe('')
  })

  test('are decoded by dlq show, which reveals texts and phones only with --reveal', async () => {
    const { env } = await writeDeadLetters()
    const show = async (...flags: string[]) => (await busgate(['dlq', 'show', ...flags], { env })).stdout
    const command = await show('--at', '0@0')
    expect(command).not.toMatch(/order|380501234567/)
    expect(JSON.parse(command)).toMatchObject({
      key: '1',
      headers: { traceparent: '00-1-2-01' },
      value: { id: '7', phone: '***', message: { 'io.busgate.Sms': { sms_message: '***' } } },
    })
    expect(await show('--at', '0@0', '--reveal')).toMatch(
      /"phone": 380501234567[\s\S]*"sms_message": "Your order is ready"/,
    )
    expect(JSON.parse(await show('--at', '0@1', '--json'))).toMatchObject({ bytes: 3, value: null })
    expect(JSON.parse(await show('--at', '0@1', '--reveal'))).toMatchObject({ raw: { base64: 'CQj/' } })
    expect(JSON.parse(await show('--at', '0@3'))).toMatchObject({ value: { success: true, id: 'abc', text: '***' } })
    expect(await busgate(['dlq', 'show', '--at', '0@99'], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no dead letter at 0@99'),
    })
  })

  test('are written back by dlq replay, each once, only with --yes, and the history says by whom and why', async () => {
    const why = ['--reason', 'the schema is registered', '--by', 'olena']
    const { env, commands, value } = await writeDeadLetters()
    const asked = await busgate(['dlq', 'replay', '--all'], { env })
    expect(asked.code).toBe(2)
    expect(asked.stdout).toMatch(/^ready +0@0 {2}→ .*\.commands\/0$/m)
    expect(asked.stdout).toMatch(/^refused +0@1 .* it cannot be decoded: The value does not begin with a zero byte/m)
    expect(asked.stdout).toMatch(/^refused +0@2 .* it has no value to replay$/m)
    expect(asked.stdout).toMatch(/^refused +0@3 .*it was a callback and has no topic$/m)
    expect(asked.stderr).toContain('Do not replay a message that its producer has resent')
    const none = await busgate(['dlq', 'replay', '--all', '--stage', 'callback'], { env })
    expect(none).toMatchObject({ code: 0, stderr: 'There is nothing to replay.\n' })

    const { code, stdout } = await busgate(['dlq', 'replay', '--at', '0@0', ...why, '--yes', '--json'], { env })
    expect({ code, replayed: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      replayed: { state: 'replayed', at: '0@0' },
    })
    const [replayed] = await recordsOf(env, commands)
    expect(replayed!.value).toEqual(value)
    expect(String(replayed!.key)).toBe('1')
    expect(
      Object.fromEntries(Object.entries(replayed!.headers).map(([name, header]) => [name, String(header)])),
    ).toEqual({
      traceparent: '00-1-2-01',
      'busgate.replayed.from': `${env.BUSGATE_TOPICS_DEAD_LETTERS}/0@0`,
      'busgate.replayed.record': `${commands}/0@5`,
    })

    for (const selected of [['--at', '0@0,0@0', ...why, '--yes'], ['--all', ...why, '--yes'], ['--all']]) {
      expect(await busgate(['dlq', 'replay', ...selected], { env })).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^refused +0@0 .*it was replayed before$/m),
        stderr: expect.stringContaining('There is nothing to replay.\n'),
      })
    }
    expect(await busgate(['dlq', 'replay', '--at', '0@0,0@1', ...why, '--yes'], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing was replayed.\n'),
    })
    expect(await recordsOf(env, commands)).toHaveLength(1)
    const history = await busgate(['status', '--history'], { env })
    expect(history.stdout).toMatch(/^1 dead letter of .* was replayed by olena at .*: the schema is registered$/m)
  })
})

/** Reads the records that are on a topic now. */
async function recordsOf(env: Record<string, string>, topic: string): Promise<BusRecord[]> {
  const bus = await openBus(loadSettings({ env }), new Telemetry())
  const records: BusRecord[] = []
  const follower = await bus.follow({ topic, partition: 0 }, 'earliest', batch => void records.push(...batch))
  await follower.caughtUp()
  await bus.close()
  return records
}
