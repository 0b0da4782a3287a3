import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { endTxn, heartbeat, type Requested } from '../../../src/bus/cluster/apis.ts'
import { Brokers } from '../../../src/bus/cluster/brokers.ts'
import type { Sasl } from '../../../src/bus/cluster/connecting.ts'
import { ProtocolError, Unanswered } from '../../../src/bus/cluster/errors.ts'
import { fetchRecords } from '../../../src/bus/read/fetch-api.ts'
import { produce } from '../../../src/bus/write/produce-api.ts'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { ManualClock } from '../../support/clock.ts'
import { coordinatorIs, FakeBroker, type Handler, keys, metadataOf } from '../../support/fake-broker.ts'

const group = { group: 'busgate' }
const beat: Requested<typeof heartbeat> = ['busgate', 1, 'm', null]
const tp = { topic: 'commands', partition: 1 }

const answering =
  (errorCode = 0, throttleMs = 0): Handler =>
  ({ fields }) =>
    fields().int32(throttleMs).int16(errorCode)

const never = () => new Promise<null>(() => {})

function open(seeds: readonly FakeBroker[], { clock = systemClock, sasl }: { clock?: Clock; sasl?: Sasl } = {}) {
  const telemetry = new Telemetry()
  const warnings: string[] = []
  telemetry.on('bus.log', ({ message }) => warnings.push(message))
  const brokers = new Brokers({ clientId: 'test', seeds: seeds.map(({ place }) => place), sasl, clock, telemetry })
  onTestFinished(() => brokers.close())
  return { brokers, warnings }
}

/** The error of connecting to a broker, or null. */
const refusalOf = (broker: FakeBroker, options?: Parameters<typeof open>[1]) =>
  open([broker], options)
    .brokers.refresh()
    .then(
      () => null,
      error => error,
    )

/** Starts one cluster. The first broker is the coordinator and leads partition 0; the second leads partition 1. */
async function startCluster(count = 1) {
  const cluster = await Promise.all(Array.from({ length: count }, () => FakeBroker.start()))
  for (const broker of cluster) {
    broker.on(keys.metadata, metadataOf(cluster, [{ topic: 'commands', leaders: [1, 2] }]))
    broker.on(keys.coordinator, coordinatorIs(1, cluster[0]!))
    broker.on(keys.heartbeat, answering())
  }
  return cluster as [FakeBroker, FakeBroker, FakeBroker]
}

describe('a request', () => {
  test('uses the newest version that both sides support', async () => {
    const [broker] = await startCluster()
    const end: Requested<typeof endTxn> = ['id', 1n, 0, true]
    broker.on(keys.endTxn, answering())
    for (const newest of [3, 4, 5]) {
      broker.supportedVersions.set(keys.endTxn, [0, newest])
      await open([broker]).brokers.ask(group, endTxn, end)
    }
    expect(broker.asked.filter(([key]) => key === keys.endTxn).map(([, version]) => version)).toEqual([3, 4, 4])
  })

  test('is not sent to a broker that supports no version of it', async () => {
    const [broker] = await startCluster()
    broker.supportedVersions.delete(keys.heartbeat)
    const asked = open([broker]).brokers.ask(group, heartbeat, beat)
    await expect(asked).rejects.toMatchObject({ type: 'UNSUPPORTED_VERSION', message: /does not understand Heartbeat/ })
    expect(broker.count(keys.heartbeat)).toBe(0)
  })

  test.each([
    { feature: 'stable offsets in OffsetFetch', code: 0, newest: 7 },
    { feature: 'the required version of ApiVersions', code: 35, newest: 8 },
  ])('is not sent to a broker without $feature: the error names the oldest Kafka', async ({ code, newest }) => {
    const [broker] = await startCluster()
    broker.supportedVersions.set(keys.offsetFetch, [0, newest])
    if (code) broker.on(keys.apiVersions, ({ fields }) => fields().int16(code))
    const refused = await refusalOf(broker)
    expect(refused).toMatchObject({
      type: 'UNSUPPORTED_VERSION',
      message: `${broker.place} is older than Apache Kafka 3.0, the oldest that busgate works with: upgrade it`,
    })
  })

  test('is not sent to a controller: the error says that it is no broker', async () => {
    const [broker] = await startCluster()
    broker.supportedVersions.delete(keys.offsetFetch)
    const refused = await refusalOf(broker)
    expect(refused.message).toContain(`${broker.place} is not a broker, but perhaps a KRaft controller`)
  })

  test('that is answered with an error code fails with the name of the error', async () => {
    const [broker] = await startCluster()
    broker.on(keys.heartbeat, answering(25))
    const refused = await open([broker])
      .brokers.ask(group, heartbeat, beat)
      .catch(error => error)
    expect(refused).toBeInstanceOf(ProtocolError)
    expect(refused).toMatchObject({ type: 'UNKNOWN_MEMBER_ID', code: 25, answer: { errorCode: 25 } })
  })

  test('that times out fails alone: others in flight are answered, the next one uses a new connection', async () => {
    const [broker] = await startCluster()
    const answers = Promise.withResolvers<void>()
    broker.on(keys.heartbeat, async asked => {
      await answers.promise
      return answering()(asked) as never
    })
    const { brokers } = open([broker])
    const patient = brokers.ask(group, heartbeat, beat)
    await expect(brokers.ask(group, heartbeat, beat, { limitMs: 50 })).rejects.toThrow(/no answer to Heartbeat within/)
    const next = brokers.ask(group, heartbeat, beat)
    await expect.poll(() => broker.count(keys.heartbeat)).toBe(2) // the second of the three waits behind the first
    answers.resolve()
    await Promise.all([patient, next])
    await expect.poll(() => broker.connections).toBe(1)
  })

  test('fails if its connection breaks, and the next one uses a new connection', async () => {
    const [broker] = await startCluster()
    const { brokers, warnings } = open([broker])
    broker.on(keys.heartbeat, () => {
      broker.breakAll()
      return null
    })
    await expect(brokers.ask(group, heartbeat, beat)).rejects.toBeInstanceOf(Unanswered)
    expect(warnings).toEqual([expect.stringContaining(`the broker ${broker.place}: `)])
    broker.on(keys.heartbeat, answering())
    await brokers.ask(group, heartbeat, beat)
  })

  test('fails on close while it waits for its connection or its answer', async () => {
    const [broker] = await startCluster()
    const { brokers } = open([broker])
    broker.on(keys.heartbeat, never)
    const waiting = [brokers.ask(group, heartbeat, beat), brokers.ask(group, heartbeat, beat, { line: 'join group' })]
    const failed = Promise.all(waiting.map(one => expect(one).rejects.toBeInstanceOf(Unanswered)))
    await expect.poll(() => broker.count(keys.heartbeat)).toBeGreaterThan(0)
    await brokers.close()
    await failed
    await expect(brokers.ask(group, heartbeat, beat)).rejects.toThrow('are closed')
    await expect.poll(() => broker.connections).toBe(0)
  })

  test('fails early if its broker leaves the cluster, and the next one goes to the new broker', async () => {
    const [hung, next] = await startCluster(2)
    const { brokers } = open([next])
    hung.on(keys.heartbeat, never)
    const asked = brokers.ask(group, heartbeat, beat, { line: 'join group', limitMs: 3_600_000 })
    const failed = expect(asked).rejects.toBeInstanceOf(Unanswered)
    await expect.poll(() => hung.count(keys.heartbeat)).toBe(1)
    hung.on(keys.metadata, never)
    next.on(keys.metadata, metadataOf([next]))
    next.on(keys.coordinator, coordinatorIs(1, next))
    await failed
    await brokers.ask(group, heartbeat, beat, { line: 'join group' })
    expect(next.count(keys.heartbeat)).toBe(1)
  })

  test('keeps its whole time-out while its broker stays in the cluster', async () => {
    const clock = new ManualClock()
    const [broker] = await startCluster()
    const { brokers } = open([broker], { clock })
    const answers = Promise.withResolvers<void>()
    broker.on(keys.heartbeat, async asked => {
      await answers.promise
      return answering()(asked) as never
    })
    const asked = brokers.ask(group, heartbeat, beat, { line: 'join group', limitMs: 60_000 })
    await expect.poll(() => broker.count(keys.heartbeat)).toBe(1)
    const lookUps = broker.count(keys.metadata)
    for (let seconds = 1; seconds <= 3; seconds++) {
      await clock.pass(1_000)
      await expect.poll(() => broker.count(keys.metadata)).toBe(lookUps + seconds)
    }
    answers.resolve()
    expect(await asked).toMatchObject({ errorCode: 0 })
  })

  const fetching = { waitMs: 0, partitionBytes: 1, rack: '', partitions: [] }
  const producing = { transactionalId: null, timeoutMs: 1, batches: [] }
  const inTime = { line: 'group', limitMs: 500 } as const

  test.each([
    {
      name: 'a Heartbeat',
      key: keys.heartbeat,
      ask: (brokers: Brokers) => brokers.ask(group, heartbeat, beat, inTime),
      throttledBy: (ms: number) => answering(0, ms),
    },
    {
      name: 'a Fetch',
      key: keys.fetch,
      ask: (brokers: Brokers) => brokers.ask(group, fetchRecords, [fetching], inTime),
      throttledBy:
        (ms: number): Handler =>
        ({ fields }) =>
          fields()
            .int32(ms)
            .int16(0)
            .int32(0)
            .array([], () => {}),
    },
    {
      name: 'a Produce',
      key: keys.produce,
      ask: (brokers: Brokers) => brokers.ask(group, produce, [producing], inTime),
      throttledBy:
        (ms: number): Handler =>
        ({ fields }) =>
          fields()
            .array([], () => {})
            .int32(ms),
    },
  ])('waits while the broker throttles the client after $name, and its time-out starts then', async exchange => {
    const { key, ask, throttledBy } = exchange
    const clock = new ManualClock()
    const [broker] = await startCluster()
    const { brokers, warnings } = open([broker], { clock })
    broker.on(key, throttledBy(900))
    await ask(brokers)
    const { promise: isUnmuted, resolve: unmute } = Promise.withResolvers<void>()
    broker.on(key, async asked => {
      await isUnmuted
      return throttledBy(0)(asked)
    })
    const muted = ask(brokers)
    await expect.poll(() => broker.count(key)).toBe(2)
    await clock.pass(899)
    unmute()
    await muted
    broker.on(key, never)
    const lost = expect(ask(brokers)).rejects.toThrow(/no answer to \w+ within/)
    await expect.poll(() => broker.count(key)).toBe(3)
    expect(warnings).toEqual([])
    await clock.pass(501)
    await lost
  })

  test('on one line does not wait for a request on another line', async () => {
    const [broker] = await startCluster()
    const { brokers } = open([broker])
    broker.on(keys.heartbeat, never)
    const stuck = brokers.ask(group, heartbeat, beat, { line: 'join group' }).catch(() => {})
    await expect.poll(() => broker.count(keys.heartbeat)).toBe(1)
    broker.on(keys.heartbeat, answering())
    await brokers.ask(group, heartbeat, beat, { line: 'group' })
    await brokers.close()
    await stuck
  })
})

describe('bootstrap brokers', () => {
  test('may be unavailable if one of them answers', async () => {
    const [broker] = await startCluster()
    const gone = await FakeBroker.start()
    await gone.stop()
    for (let i = 0; i < 8; i++) await open([gone, broker]).brokers.ask(group, heartbeat, beat)
  })

  test('may hang if one of them answers', async () => {
    const [broker] = await startCluster()
    const frozen = await FakeBroker.start()
    frozen.on(keys.apiVersions, never)
    const { brokers } = open([frozen, broker])
    await brokers.ask(group, heartbeat, beat)
  })

  test('are no longer used once the cluster has named other addresses', async () => {
    const [broker] = await startCluster()
    const outside = await FakeBroker.start()
    outside.on(keys.metadata, metadataOf([broker]))
    const { brokers } = open([outside])
    await brokers.refresh()
    await brokers.refresh()
    expect([outside.count(keys.metadata), broker.count(keys.metadata)]).toEqual([1, 1])
    expect(outside.connections).toBe(0)
  })

  test('that are all unavailable are named in the error', async () => {
    const gone = await FakeBroker.start()
    await gone.stop()
    await expect(open([gone]).brokers.refresh()).rejects.toThrow(`connect ECONNREFUSED ${gone.place}`)
  })
})

describe('a coordinator', () => {
  test('is looked up once, and again when it says that it no longer is one', async () => {
    const [one, two] = await startCluster(2)
    const { brokers } = open([one])
    await brokers.ask(group, heartbeat, beat)
    await brokers.ask(group, heartbeat, beat)
    expect(one.count(keys.coordinator)).toBe(1)
    for (const broker of [one, two]) broker.on(keys.coordinator, coordinatorIs(2, two))
    one.on(keys.heartbeat, answering(16))
    await expect(brokers.ask(group, heartbeat, beat)).rejects.toMatchObject({ type: 'NOT_COORDINATOR' })
    await brokers.ask(group, heartbeat, beat)
    expect(two.count(keys.heartbeat)).toBe(1)
  })

  test('is looked up again when it does not answer', async () => {
    const [one, two] = await startCluster(2)
    const { brokers } = open([one, two])
    await brokers.ask(group, heartbeat, beat)
    two.on(keys.coordinator, coordinatorIs(2, two))
    await one.stop()
    await expect(brokers.ask(group, heartbeat, beat)).rejects.toBeInstanceOf(Unanswered)
    await brokers.ask(group, heartbeat, beat)
    expect(two.count(keys.heartbeat)).toBe(1)
  })

  test('is looked up at the next broker if one does not know it', async () => {
    const [one, two] = await startCluster(2)
    one.on(keys.coordinator, ({ fields }) => fields().int32(0).int16(15).string(null).int32(-1).string('').int32(-1))
    const { brokers } = open([one, two])
    await brokers.ask(group, heartbeat, beat)
  })

  test('of a group without rights fails with GROUP_AUTHORIZATION_FAILED', async () => {
    const [broker] = await startCluster()
    broker.on(keys.coordinator, ({ fields }) => fields().int32(0).int16(30).string(null).int32(-1).string('').int32(-1))
    const refused = open([broker]).brokers.ask(group, heartbeat, beat)
    await expect(refused).rejects.toMatchObject({ type: 'GROUP_AUTHORIZATION_FAILED' })
  })
})

describe('a leader', () => {
  test('is looked up at most once in 30 seconds', async () => {
    const clock = new ManualClock()
    const [one, two] = await startCluster(2)
    const { brokers } = open([one], { clock })
    expect([await brokers.leader(tp), await brokers.partitions('commands')]).toEqual([2, 2])
    expect(one.count(keys.metadata) + two.count(keys.metadata)).toBe(1)
    await clock.pass(31_000)
    await brokers.leader(tp)
    expect(one.count(keys.metadata) + two.count(keys.metadata)).toBe(2)
  })

  test('that has moved is looked up again', async () => {
    const [one, two] = await startCluster(2)
    const { brokers } = open([one])
    two.on(keys.heartbeat, answering(6))
    await expect(brokers.ask({ leader: tp }, heartbeat, beat)).rejects.toMatchObject({ type: 'NOT_LEADER_OR_FOLLOWER' })
    for (const broker of [one, two]) {
      broker.on(keys.metadata, metadataOf([one, two], [{ topic: 'commands', leaders: [1, 1] }]))
    }
    await brokers.ask({ leader: tp }, heartbeat, beat)
    expect(one.count(keys.heartbeat)).toBe(1)
  })

  test("that is unknown fails the request with the broker's error, and is looked up again next time", async () => {
    const [broker] = await startCluster()
    broker.on(keys.metadata, metadataOf([broker], [{ topic: 'commands', errorCode: 29, leaders: [] }]))
    const { brokers } = open([broker])
    await expect(brokers.leader(tp)).rejects.toMatchObject({ type: 'TOPIC_AUTHORIZATION_FAILED' })
    broker.on(keys.metadata, metadataOf([broker], [{ topic: 'commands', leaders: [1, -1] }]))
    await expect(brokers.leader(tp)).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' })
    broker.on(keys.metadata, metadataOf([broker], [{ topic: 'commands', leaders: [1] }]))
    await expect(brokers.leader(tp)).rejects.toMatchObject({ type: 'UNKNOWN_TOPIC_OR_PARTITION' })
    broker.on(keys.metadata, metadataOf([broker], [{ topic: 'commands', leaders: [1, 1] }]))
    expect(await brokers.leader(tp)).toBe(1)
  })

  test('comes from metadata requested after the call, not from an earlier request in flight', async () => {
    const [broker] = await startCluster()
    const { brokers } = open([broker])
    await brokers.refresh(['commands'])
    const inFlight = brokers.refresh()
    await setImmediate()
    await Promise.all([inFlight, brokers.refresh(), brokers.refresh()])
    expect(broker.count(keys.metadata)).toBe(3)
  })
})

test('added partitions stay known although a broker that lags answers, until the topic is recreated with fewer', async () => {
  const [broker] = await startCluster()
  const { brokers } = open([broker])
  const partitionsAt = async (id: number, count: number) => {
    broker.on(keys.metadata, metadataOf([broker], [{ topic: 'statuses', id, leaders: new Array(count).fill(1) }]))
    await brokers.refresh(['statuses'])
    return [await brokers.partitions('statuses'), (await brokers.topic('statuses'))?.partitions.length]
  }
  expect(await partitionsAt(1, 4)).toEqual([4, 4])
  expect(await partitionsAt(1, 12)).toEqual([12, 12])
  expect(await partitionsAt(1, 4)).toEqual([12, 12])
  expect(await brokers.leader({ topic: 'statuses', partition: 11 })).toBe(1)
  expect(await partitionsAt(2, 4)).toEqual([4, 4])
})

describe('a connection with SASL', () => {
  /** Starts a broker that answers SaslAuthenticate with this. */
  async function startSecure(errorCode: number, message: string | null, bytes = '') {
    const [broker] = await startCluster()
    broker.on(keys.handshake, ({ fields }) => {
      const to = fields().int16(0)
      return to.array(['PLAIN', 'OAUTHBEARER'], mechanism => void to.string(mechanism))
    })
    broker.on(keys.authenticate, ({ fields }) =>
      fields().int16(errorCode).string(message).buffer(Buffer.from(bytes)).int64(0),
    )
    return broker
  }

  test('signs in with a token and its extensions', async () => {
    const broker = await startSecure(0, null)
    const shown: string[] = []
    broker.on(keys.authenticate, ({ bytes, fields }) => {
      shown.push(String(bytes()))
      return fields().int16(0).string(null).buffer(Buffer.alloc(0)).int64(0)
    })
    const extensions = { logicalCluster: 'lkc-1', identityPoolId: 'pool-1' }
    const sasl: Sasl = { mechanism: 'oauthbearer', token: async () => 'a-token', extensions }
    await open([broker], { sasl }).brokers.refresh()
    const message = 'n,,\x01auth=Bearer a-token\x01logicalCluster=lkc-1\x01identityPoolId=pool-1\x01\x01'
    expect(new Set(shown)).toEqual(new Set([message]))
  })

  test("fails with the broker's error, without the password", async () => {
    const broker = await startSecure(58, 'wrong password')
    const sasl: Sasl = { mechanism: 'plain', username: 'narrow', password: () => 'its-password' }
    expect(await refusalOf(broker, { sasl })).toMatchObject({
      type: 'SASL_AUTHENTICATION_FAILED',
      message: /signing in failed, wrong password\. Check kafka\.sasl/,
    })
  })

  test('fails if the broker rejects the token', async () => {
    const broker = await startSecure(0, null, '{"status":"invalid_token"}')
    const refused = await refusalOf(broker, { sasl: { mechanism: 'oauthbearer', token: async () => 'a-token' } })
    expect(refused).toMatchObject({ type: 'SASL_AUTHENTICATION_FAILED', message: /invalid_token/ })
  })

  test('whose token cannot be fetched counts as an outage, not as a refusal', async () => {
    const broker = await startSecure(0, null)
    const sasl: Sasl = { mechanism: 'oauthbearer', token: () => Promise.reject(new Unanswered('no token now')) }
    await expect(open([broker], { sasl }).brokers.refresh()).rejects.toThrow('no token now')
  })
})

test('a broker that expects TLS is not reported as unavailable', async () => {
  const [broker] = await startCluster()
  broker.on(keys.apiVersions, ({ socket }) => {
    socket.write(Buffer.from([0x15, 3, 3, 0, 2, 2, 70]))
    return null
  })
  const refused = await refusalOf(broker)
  expect(refused).not.toBeInstanceOf(Unanswered)
  expect(refused.message).toContain('Broker requires TLS')
})
