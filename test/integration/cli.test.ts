import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/index.ts'
import { busgate, startBusgate } from '../support/cli.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { plainKafka } from '../support/kafka.ts'

/** Settings of a test of its own: new topics, a new group, a gateway of its own. */
async function buildEnvironment({ brokers, registryUrl }: Brokers) {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const name = `cli-${randomUUID()}`
  return {
    BUSGATE_KAFKA_BROKERS: brokers.join(','),
    BUSGATE_KAFKA_GROUP_ID: name,
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_TOPICS_COMMANDS: `${name}.otp,${name}.commands`,
    BUSGATE_TOPICS_RESULTS: `${name}.results`,
    BUSGATE_TOPICS_STATUSES: `${name}.statuses`,
    BUSGATE_TOPICS_DOUBTS: `${name}.doubts`,
    BUSGATE_TOPICS_DEAD_LETTERS: `${name}.dead-letters`,
    BUSGATE_GATEWAY_URL: sandbox.url,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_TELEMETRY_PORT: '0',
  }
}

const message = { sms_message: 'Hello', sms_signature: 'Shop' }
const lineOf = (command: object) => `${JSON.stringify({ phone: 380501234567, type: 'sms', message, ...command })}\n`

describeOnKafka('the command line on a real Kafka', brokers => {
  test('topics create, send, run and tail results lead a command from its line to its result', async () => {
    const env = await buildEnvironment(brokers)
    const created = await busgate(['topics', 'create', '--partitions', '2', '--json'], { env })
    expect(
      created.stdout
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toContainEqual({
      topic: env.BUSGATE_TOPICS_RESULTS,
      partitions: 2,
      created: true,
    })
    expect((await busgate(['topics', 'create'], { env })).stdout).not.toContain('created')

    const input = `${lineOf({ id: 1 })}\n{"id":9007199254740993,${lineOf({ phone: 380501234592 }).slice(1)}`
    expect(await busgate(['send'], { env, input })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Sent 2'),
    })
    const run = startBusgate(['run'], { env })
    const tail = await busgate(['tail', 'results', '--from-beginning', '--count', '2', '--json'], { env })
    expect(tail.code).toBe(0)
    expect(tail.stdout).toMatch(/"id":1,.*"outcome":"SENT"/)
    expect(tail.stdout).toMatch(/"id":9007199254740993,.*"errorCode":"INSUFFICIENT_FUNDS"/)
    run.signal('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })

  test('a line that is wrong is named, and nothing of its batch is sent', async () => {
    const env = await buildEnvironment(brokers)
    await busgate(['topics', 'create'], { env })
    const input = lineOf({ id: 1 }) + lineOf({ id: 2, message: { sms_mesage: 'Hello' } })
    const { code, stderr } = await busgate(['send'], { env, input })
    expect(code).toBe(1)
    expect(stderr).toContain('line 2: message: sms has no sms_mesage; the nearest is sms_message')
    expect(stderr).toContain('nothing from line 1 on was sent')
  })

  test('tail says that its topic does not exist', async () => {
    const { code, stderr } = await busgate(['tail', 'statuses'], { env: await buildEnvironment(brokers) })
    expect(code).toBe(1)
    expect(stderr).toContain('busgate topics create')
  })

  test('run that cannot go on by itself logs why and exits 1', async () => {
    const env = await buildEnvironment(brokers)
    await busgate(['topics', 'create'], { env })
    const intruder = plainKafka(brokers.brokers).consumer({
      groupId: env.BUSGATE_KAFKA_GROUP_ID,
      partitionAssigners: [foreignProtocol],
    })
    onTestFinished(() => intruder.disconnect())
    await intruder.connect()
    await intruder.subscribe({ topic: env.BUSGATE_TOPICS_RESULTS })
    const joined = new Promise(resolve => intruder.on(intruder.events.GROUP_JOIN, resolve))
    await intruder.run({ eachMessage: async () => {} })
    await joined
    const { code, stdout } = await busgate(['run'], { env })
    expect(code).toBe(1)
    expect(stdout).toContain('"event":"worker.failed"')
  })
})

/** Brokers refuse a member whose protocols the others of its group do not speak. */
const foreignProtocol = () => ({
  name: 'foreign',
  version: 0,
  protocol: () => ({ name: 'foreign', metadata: Buffer.alloc(0) }),
  assign: async () => [],
})
