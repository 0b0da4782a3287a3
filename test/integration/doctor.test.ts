import { randomBytes } from 'node:crypto'
import kafkajs, { type AclResourceTypes } from 'kafkajs'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/index.ts'
import { busgate } from '../support/cli.ts'
import { diagnose } from '../support/doctor.ts'
import { buildEnvironment, environmentOf as environmentOfWorld } from '../support/environment.ts'
import { type Brokers, describeOnKafka, describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics, grant } from '../support/kafka.ts'
import { startWorld } from '../support/worker.ts'

/** The environment of one test, for all roles. */
function environmentOf(brokers: Brokers) {
  return {
    ...buildEnvironment(brokers),
    BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
    BUSGATE_ROLES: 'worker,callbacks,reconciler',
    BUSGATE_CALLBACKS_SECRET: `k1:${randomBytes(32).toString('base64url')}`,
  }
}

const topicChecks = ['settings', 'cluster', 'topics', 'limits']

describeOnKafka('busgate doctor on a real Kafka', brokers => {
  test('accepts what topics create and schemas register have made', async () => {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const env = { ...environmentOf(brokers), BUSGATE_GATEWAY_URL: sandbox.url }
    const before = await diagnose(env)
    expect(before.of('topics')).toContain(`failed: ${env.BUSGATE_TOPICS_RESULTS} does not exist`)
    expect(before.of('topics')).toContain(`warning: ${env.BUSGATE_TOPICS_CONTROL} does not exist`)
    expect(before.mends('topics', 'failed')).toContain('busgate topics create')
    expect(before.of('rights').filter(line => line.includes(` of ${env.BUSGATE_TOPICS_RESULTS}`))).toEqual([])
    expect(before.mends('schemas', 'warning')).toContain('busgate schemas register')
    await busgate(['topics', 'create'], { env })
    await busgate(['schemas', 'register'], { env })
    const { all, of } = await diagnose(env)
    const oneBroker = /^the cluster has \d brokers?:/
    expect(all.filter(({ state, what }) => /warning|failed/.test(state) && !oneBroker.test(what))).toEqual([])
    expect(of('topics')).toContainEqual(expect.stringMatching(/^ok: .*\.doubts: 12 partitions/))
    expect(of('limits')).toContain(`ok: ${env.BUSGATE_TOPICS_CONTROL} keeps the last record of each key`)
    expect(of('schemas')).toContainEqual(expect.stringMatching(/^ok: .*\.commands-value is version 1, BACKWARD_TRANS/))
    expect(of('rights')).toContainEqual(expect.stringMatching(/^ok: WRITE of the transactional ids .* aborted$/))
  })

  test('reports unequal partitions, a compacted topic, and commands that are deleted before they expire', async () => {
    const env = environmentOf(brokers)
    const [otp = '', commands = ''] = env.BUSGATE_TOPICS_COMMANDS.split(',')
    await createTopics(brokers.brokers, [
      { topic: otp, partitions: 2 },
      {
        topic: commands,
        partitions: 3,
        config: { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime' },
      },
      { topic: env.BUSGATE_TOPICS_LATER, partitions: 3, config: { 'cleanup.policy': 'compact,delete' } },
      { topic: env.BUSGATE_TOPICS_DOUBTS, partitions: 3, config: { 'retention.ms': '60000' } },
      {
        topic: env.BUSGATE_TOPICS_RESULTS,
        partitions: 1,
        config: { 'max.message.bytes': '1000', 'retention.ms': '3600000' },
      },
      { topic: env.BUSGATE_TOPICS_STATUSES, partitions: 2, config: { 'min.insync.replicas': '9' } },
      { topic: env.BUSGATE_TOPICS_CONTROL, partitions: 2, config: { 'cleanup.policy': 'compact' } },
    ])
    const { of, mends } = await diagnose(env, topicChecks)
    expect(of('topics')).toEqual([
      `warning: ${otp}: 2 partitions instead of 3`,
      expect.stringMatching(
        /^warning: .*: message\.timestamp\.type is CreateTime: a command .* is deleted unread, and .* may be sent$/,
      ),
      expect.stringMatching(/^failed: .*\.commands: cleanup\.policy is compact/),
      `failed: ${env.BUSGATE_TOPICS_LATER}: cleanup.policy is compact,delete: retention by age removes commands that wait, without a result`,
      expect.stringMatching(/^warning: .*\.later: max\.message\.bytes is 1048588: longer commands cannot wait/),
      expect.stringMatching(/^ok: .*\.doubts: 3 partitions/),
      `warning: ${env.BUSGATE_TOPICS_RESULTS}: 1 partition instead of 2`,
      expect.stringMatching(/^failed: .*\.results: max\.message\.bytes is 1000/),
      expect.stringMatching(/^failed: .*\.statuses: min\.insync\.replicas is 9, .*: nothing can be written$/),
      `failed: ${env.BUSGATE_TOPICS_OVERDUE} does not exist`,
      expect.stringMatching(/^failed: .*\.control: 2 partitions instead of one: the order of pauses/),
      `warning: ${env.BUSGATE_TOPICS_HISTORY} does not exist`,
      `warning: ${env.BUSGATE_TOPICS_WORKERS} does not exist`,
      `failed: ${env.BUSGATE_TOPICS_DEAD_LETTERS} does not exist`,
    ])
    const server = `--bootstrap-server ${brokers.brokers[0]}`
    expect(mends('topics', 'warning')).toContain(`kafka-topics.sh ${server} --alter --topic ${otp} --partitions 3`)
    expect(mends('topics', 'failed')).toContain(
      `kafka-configs.sh ${server} --alter --entity-type topics --entity-name ${env.BUSGATE_TOPICS_LATER} --add-config cleanup.policy=compact`,
    )
    expect(of('limits')).toContainEqual(
      `failed: ${env.BUSGATE_TOPICS_DOUBTS} is kept for 1 minute, and commands live for 1 day: they can be deleted without a result`,
    )
    expect(of('limits')).toContainEqual(
      `warning: ${env.BUSGATE_TOPICS_RESULTS} is kept for 1 hour, and commands for 7 days: after a reset of offsets, commands without a result are sent again`,
    )
  })

  test('advises to keep results without limit where commands are', async () => {
    const env = environmentOf(brokers)
    const unlimited = env.BUSGATE_TOPICS_COMMANDS.split(',').map(topic => ({
      topic,
      partitions: 1,
      config: { 'retention.ms': '-1' },
    }))
    await createTopics(brokers.brokers, [...unlimited, { topic: env.BUSGATE_TOPICS_RESULTS, partitions: 1 }])
    const { mends } = await diagnose(env, topicChecks)
    expect(mends('limits', 'warning')).toContainEqual(expect.stringContaining('retention.ms=-1'))
  })

  test('reports commands that live longer than committed offsets', async () => {
    const env = { ...environmentOf(brokers), BUSGATE_COMMANDS_MAX_AGE_MS: String(30 * 24 * 3_600_000) }
    const { of } = await diagnose(env, topicChecks)
    expect(of('limits')).toContainEqual(
      expect.stringMatching(
        /^failed: broker \d: offsets\.retention\.minutes is 10080: committed offsets are deleted after 7 days/,
      ),
    )
  })

  test('reports a schema that is incompatible with the local one', async () => {
    const env = environmentOf(brokers)
    const subject = `${env.BUSGATE_TOPICS_RESULTS}-value`
    const schema = {
      type: 'record',
      name: 'SendResult',
      namespace: 'io.busgate',
      fields: [{ name: 'id', type: 'string' }],
    }
    await fetch(`${brokers.registryUrl}/subjects/${subject}/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ schema: JSON.stringify(schema) }),
    })
    const { of } = await diagnose(env, ['settings', 'registry', 'schemas'])
    expect(of('schemas')).toContainEqual(
      expect.stringMatching(/^failed: .*\.results-value: version 1 \(id \d+\): cannot be read with the local schema/),
    )
    const checked = await busgate(['schemas', 'check'], { env })
    expect(checked.code).toBe(1)
    expect(checked.stdout).toContain(`differs     ${subject}  version 1`)
    const registered = await busgate(['schemas', 'register', '--json'], { env })
    expect(registered.code).toBe(1)
    const states = registered.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).state)
    expect(states).toEqual(['registered', 'registered', 'registered', 'differs', 'registered'])
  })

  test('reports commands that were written before the first start, from which run refuses to start', async () => {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const env = { ...environmentOf(brokers), BUSGATE_GATEWAY_URL: sandbox.url }
    await busgate(['topics', 'create'], { env })
    await busgate(['schemas', 'register'], { env })
    const checked = ['settings', 'cluster', 'topics', 'start']
    const fine = ['ok: the group has committed offsets, or there are no commands yet']
    expect((await diagnose(env, checked)).of('start')).toEqual(fine)
    const input = '{"id":1,"phone":380501234567,"type":"sms","message":{"sms_message":"Hi","sms_signature":"Shop"}}\n'
    expect(await busgate(['send'], { env, input })).toMatchObject({ code: 0 })
    const { of, mends } = await diagnose(env, checked)
    const topic = env.BUSGATE_TOPICS_COMMANDS.split(',')[1]
    expect(of('start')).toEqual([
      `failed: the group ${env.BUSGATE_KAFKA_GROUP_ID} has no committed offset on ${topic}, which is not empty: run refuses to start`,
    ])
    expect(mends('start', 'failed')).toEqual([
      expect.stringMatching(/^set kafka\.startFrom \(BUSGATE_KAFKA_START_FROM\) to earliest, which sends/),
    ])
    const refused = await busgate(['run'], { env })
    expect(refused.stdout).toContain('set kafka.startFrom (BUSGATE_KAFKA_START_FROM) to earliest')
    const decided = { ...env, BUSGATE_KAFKA_START_FROM: 'latest' }
    expect((await diagnose(decided, checked)).of('start')).toEqual(['ok: without a committed offset: latest'])
  })

  test('reports a second group of workers, which would send every command again', async () => {
    const world = await startWorld({ brokers })
    const env = { ...environmentOfWorld(world), BUSGATE_REGISTRY_URL: brokers.registryUrl }
    const { groupId } = world.settings.kafka
    const checked = ['settings', 'cluster', 'groups']
    expect((await diagnose(env, checked)).of('groups')).toEqual(['ok: no other group sends these commands'])
    const { of, mends } = await diagnose({ ...env, BUSGATE_KAFKA_GROUP_ID: `${groupId}-2` }, checked)
    expect(of('groups')).toEqual([`failed: the group ${groupId} sends these commands too: each is sent twice`])
    expect(mends('groups', 'failed')).toEqual([expect.stringContaining('BUSGATE_KAFKA_GROUP_ID')])
    const elsewhere = {
      ...env,
      BUSGATE_KAFKA_GROUP_ID: `${groupId}-2`,
      BUSGATE_TOPICS_COMMANDS: `${groupId}.elsewhere`,
    }
    expect((await diagnose(elsewhere, checked)).of('groups')).toEqual(['ok: no other group sends these commands'])
  })

  test('reports processes of another installation in the group, which a worker would wait for', async () => {
    const world = await startWorld({ brokers })
    const env = { ...environmentOfWorld(world), BUSGATE_REGISTRY_URL: brokers.registryUrl }
    const { of, mends } = await diagnose({ ...env, BUSGATE_TOPICS_RESULTS: 'others' }, [
      'settings',
      'cluster',
      'groups',
    ])
    expect(of('groups')).toContainEqual(
      expect.stringContaining(`topics.results is others here and ${world.settings.topics.results} there`),
    )
    expect(mends('groups', 'failed')).toEqual([expect.stringContaining('its own kafka.groupId')])
  })

  test('checks the other brokers if one is unavailable', async () => {
    const env = environmentOf({ ...brokers, brokers: ['127.0.0.1:1', ...brokers.brokers] })
    const { of } = await diagnose(env, ['settings', 'cluster'])
    expect(of('cluster')[0]).toMatch(/^ok: broker \d at .* supports all requests of busgate$/)
  })
})

describeWithJava('on a Kafka with SASL and ACLs', () => {
  const { AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs
  const user = 'busgate'
  const password = 'pw-of-nobody'
  const kafka = ownKafka(() => ({ users: { [user]: password } }))

  const only = ['settings', 'cluster', 'topics', 'rights', 'limits']

  async function secureEnvironment() {
    const open = environmentOf({ brokers: kafka.brokers, registryUrl: 'http://127.0.0.1:1' })
    await busgate(['topics', 'create', '--partitions', '1'], { env: open })
    return {
      ...open,
      BUSGATE_KAFKA_BROKERS: kafka.outerBrokers.join(','),
      BUSGATE_KAFKA_SASL_MECHANISM: 'plain',
      BUSGATE_KAFKA_SASL_USERNAME: user,
      BUSGATE_KAFKA_SASL_PASSWORD: password,
    }
  }

  /** Grants the right that a kafka-acls.sh command grants. */
  async function execute(command: string): Promise<void> {
    const [, operation = ''] = /--operation (\w+)/.exec(command) ?? []
    const [, kind = '', name = ''] = /--(topic|group|transactional-id) (\S+)/.exec(command) ?? []
    const types: Record<string, AclResourceTypes> = { topic: 2, group: 3, 'transactional-id': 5 }
    await grant(kafka.brokers, [
      {
        principal: /--allow-principal (\S+)/.exec(command)?.[1] ?? '',
        host: '*',
        operation: operation === 'Read' ? AclOperationTypes.READ : AclOperationTypes.WRITE,
        permissionType: AclPermissionTypes.ALLOW,
        resourceType: types[kind]!,
        resourceName: name,
        resourcePatternType: command.includes('prefixed')
          ? ResourcePatternTypes.PREFIXED
          : ResourcePatternTypes.LITERAL,
      },
    ])
  }

  test('doctor names every missing right, and the command that grants it', async () => {
    const env = await secureEnvironment()
    const name = env.BUSGATE_KAFKA_GROUP_ID
    const { of, mends, all } = await diagnose(env, only)
    expect(of('rights')).toEqual([
      `failed: READ of ${name}.commands.otp is missing`,
      `failed: WRITE of ${name}.commands.otp is missing`,
      `failed: READ of ${name}.commands is missing`,
      `failed: WRITE of ${name}.commands is missing`,
      `failed: READ of ${name}.later is missing`,
      `failed: WRITE of ${name}.later is missing`,
      `failed: READ of ${name}.doubts is missing`,
      `failed: WRITE of ${name}.doubts is missing`,
      `failed: READ of ${name}.results is missing`,
      `failed: WRITE of ${name}.results is missing`,
      `failed: READ of ${name}.statuses is missing`,
      `failed: WRITE of ${name}.statuses is missing`,
      `failed: READ of ${name}.overdue is missing`,
      `failed: WRITE of ${name}.overdue is missing`,
      `failed: READ of ${name}.control is missing`,
      `warning: WRITE of ${name}.workers is missing`,
      `failed: READ of ${name}.dead-letters is missing`,
      `failed: WRITE of ${name}.dead-letters is missing`,
      `failed: READ of the group ${name} is missing`,
      `failed: READ of the group ${name}-reconciler is missing`,
      `failed: WRITE of the transactional ids ${name}-… is missing`,
    ])
    expect(JSON.stringify(all)).not.toContain(password)
    for (const command of [...mends('rights', 'failed'), ...mends('rights', 'warning')]) {
      expect(command).toMatch(/^kafka-acls\.sh --bootstrap-server \S+ --command-config ADMIN\.properties --add /)
      await execute(command!)
    }
    const mended = await diagnose(env, only)
    expect(mended.of('rights')).toHaveLength(13)
    expect(mended.of('rights').filter(line => !line.startsWith('ok: '))).toEqual([])
    expect(mended.of('topics').at(-1)).toMatch(/^skipped: cleanup\.policy, .* this login cannot see them$/)
    expect(mended.of('limits')).toEqual([expect.stringMatching(/^skipped: the limits of broker 1 cannot be seen/)])
  })

  test('topics create names the missing right, and the command that grants it', async () => {
    const env = {
      ...(await secureEnvironment()),
      ...environmentOf({ brokers: kafka.outerBrokers, registryUrl: 'http://127.0.0.1:1' }),
    }
    const right = {
      principal: `User:${user}`,
      host: '*',
      permissionType: AclPermissionTypes.ALLOW,
      resourceType: 2,
      resourceName: env.BUSGATE_KAFKA_GROUP_ID,
      resourcePatternType: ResourcePatternTypes.PREFIXED,
    }
    await grant(kafka.brokers, [{ ...right, operation: AclOperationTypes.DESCRIBE }])
    const { code, stderr } = await busgate(['topics', 'create'], { env })
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /cannot be created: .* \(TOPIC_AUTHORIZATION_FAILED\): kafka-acls\.sh .* --allow-principal User:busgate --operation Create --topic /,
    )
    await grant(kafka.brokers, [{ ...right, operation: AclOperationTypes.CREATE }])
    expect((await busgate(['topics', 'create'], { env })).code).toBe(0)
  })

  test('doctor reports a wrong password', async () => {
    const { of } = await diagnose({ ...(await secureEnvironment()), BUSGATE_KAFKA_SASL_PASSWORD: 'another' }, only)
    expect(of('cluster')[0]).toMatch(
      /^failed: no broker can be used: \S+ signing in failed, Authentication failed: Invalid username or password/,
    )
    expect(of('rights')).toEqual(['skipped: no broker answered'])
  })
})
