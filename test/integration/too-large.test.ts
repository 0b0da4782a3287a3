import { randomBytes } from 'node:crypto'
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs'
import { beforeAll, expect, test } from 'vitest'
import { buildRecord, buildRecords, publishAll, readKeys, TestListener, until } from '../support/bus.ts'
import { describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics, grant } from '../support/kafka.ts'
import { openWired } from '../support/wires.ts'

const smallLimit = 20_000
describeWithJava('without the right to read the limits of topics', () => {
  const password = 'pw-of-nobody'
  const sasl = { mechanism: 'plain', username: 'busgate', password: () => password } as const
  const kafka = ownKafka(() => ({ users: { [sasl.username]: password } }))
  beforeAll(async () => {
    const allow = (resourceType: AclResourceTypes, operation: AclOperationTypes) => ({
      ...{ principal: `User:${sasl.username}`, host: '*', permissionType: AclPermissionTypes.ALLOW },
      ...{ resourceType, operation, resourceName: 'limits', resourcePatternType: ResourcePatternTypes.PREFIXED },
    })
    await grant(kafka.brokers, [
      allow(AclResourceTypes.TOPIC, AclOperationTypes.READ),
      allow(AclResourceTypes.TOPIC, AclOperationTypes.WRITE),
      allow(AclResourceTypes.GROUP, AclOperationTypes.READ),
      allow(AclResourceTypes.TRANSACTIONAL_ID, AclOperationTypes.WRITE),
    ])
  })

  test('records are shortened after each refusal until the broker accepts them', async () => {
    await createTopics(kafka.brokers, [
      { topic: 'limits.commands', partitions: 1 },
      { topic: 'limits.results', partitions: 1 },
      { topic: 'limits.letters', partitions: 1, config: { 'max.message.bytes': String(smallLimit) } },
    ])
    const { bus } = openWired({ brokers: kafka.outerBrokers, sasl, groupId: 'limits' })
    const letter = (key: string) => ({
      ...buildRecord('limits.letters', key, { value: randomBytes(900_000) }),
      shorter: () => buildRecord('limits.letters', key, { value: randomBytes(9000) }),
    })
    const listener = new TestListener()
    listener.onFresh = (session, records) => {
      for (const { offset, key } of records) {
        session.settle(offset, [letter(String(key)), buildRecord('limits.results', String(key))])
      }
    }
    await bus.join(['limits.commands'], listener)
    await publishAll(bus, buildRecords('limits.commands', ['a', 'b', 'c']))
    const results = await readKeys(bus, 'limits.results')
    const letters = await readKeys(bus, 'limits.letters')
    await until(() => expect([results, letters]).toEqual([Array.of('a', 'b', 'c'), Array.of('a', 'b', 'c')]))
  })
})
