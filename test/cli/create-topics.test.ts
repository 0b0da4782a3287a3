import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createMissingTopics } from '../../src/cli/kafka/create-topics.ts'
import { loadSettings } from '../../src/config/index.ts'
import { FakeBroker, keys } from '../support/fake-broker.ts'

const leaderNotAvailable = 5

test('if a partition has no leader, topics create names the command that lists such partitions', async () => {
  const broker = await FakeBroker.start()
  broker.on(keys.metadata, ({ fields }) => {
    const to = fields().int32(0)
    to.array([1], id => void to.int32(id).string('127.0.0.1').int32(broker.port).string(null))
    to.string('cluster').int32(1)
    return to.array(['others'], topic => {
      to.int16(0).string(topic).boolean(false)
      to.array([0], partition => {
        to.int16(leaderNotAvailable).int32(partition).int32(-1)
        for (const _ of ['replicas', 'in sync', 'offline']) to.values([], () => {})
      })
    })
  })
  const overrides = { kafka: { brokers: [broker.place] }, registry: { url: 'http://127.0.0.1:1' } }
  const creating = createMissingTopics(loadSettings({ env: {}, overrides }), [{ topic: 'mine', partitions: 1 }])
  const show = `kafka-topics.sh --bootstrap-server ${broker.place} --describe --unavailable-partitions`
  await expect(creating).rejects.toThrow(
    `topics can be created only if every partition of the cluster has a leader: ${show} lists those without`,
  )
})

test('topics create signs in with a token and its extensions', async () => {
  const endpoint = createServer((_, response) => void response.end('{"access_token":"a-token"}')).listen(0, '127.0.0.1')
  await once(endpoint, 'listening')
  onTestFinished(() => void endpoint.close())
  const broker = await FakeBroker.start()
  const shown: string[] = []
  broker.on(keys.handshake, ({ fields }) => {
    const to = fields().int16(0)
    return to.array(['OAUTHBEARER'], mechanism => void to.string(mechanism))
  })
  broker.on(keys.authenticate, ({ bytes, socket }) => {
    shown.push(String(bytes()))
    socket.destroy()
    return null
  })
  const overrides = {
    kafka: {
      brokers: [broker.place],
      sasl: {
        mechanism: 'oauthbearer',
        tokenEndpoint: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`,
        clientId: 'client',
        clientSecret: 'secret',
        extensions: '{"logicalCluster":"lkc-1"}',
      },
    },
    registry: { url: 'http://127.0.0.1:1' },
  } as const
  await createMissingTopics(loadSettings({ env: {}, overrides }), [{ topic: 'mine', partitions: 1 }]).catch(() => {})
  expect(shown[0]).toBe('n,,\x01auth=Bearer a-token\x01logicalCluster=lkc-1\x01\x01')
})
