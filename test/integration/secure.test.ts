import { pbkdf2Sync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { alterUserScramCredentialsV0, Connection } from '@platformatic/kafka'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openBus } from '../../src/bus/open.ts'
import { createMissingTopics } from '../../src/cli/kafka/create-topics.ts'
import { loadSettings } from '../../src/config/index.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { readKeys, TestListener, until } from '../support/bus.ts'
import { type Certificates, makeCertificates } from '../support/certificates.ts'
import { buildCommand } from '../support/commands.ts'
import { describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics, openKafkajsProducer } from '../support/kafka.ts'
import { startWorld } from '../support/worker.ts'

const [user, password] = ['narrow', 'its-password']
/** The user whose password changes. */
const rotated = 'rotated'
const sessionMs = 2_000

/** An unsigned token. Brokers accept it unless they are configured to check signatures. */
function tokenOf(subject: string): string {
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
  const now = Date.now() / 1000
  return `${part({ alg: 'none' })}.${part({ sub: subject, iat: now - 1, exp: now + 60 })}.`
}

async function startTokenEndpoint() {
  let requests = 0
  const server = createServer(async (request, response) => {
    requests++
    const asked = Object.fromEntries(new URLSearchParams(await text(request)))
    const isKnown =
      request.headers.authorization === `Basic ${Buffer.from('client:its-secret').toString('base64')}` &&
      asked.audience === 'kafka' &&
      asked.resource === 'api://kafka'
    const answer = isKnown ? { access_token: tokenOf(user), expires_in: 3 } : { error: 'invalid_client' }
    response.writeHead(isKnown ? 200 : 401).end(JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    requests: () => requests,
    close: () => server.close(),
  }
}

/** A file with this content, until the end of the test. */
function fileWith(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'busgate-secure-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'content')
  writeFileSync(file, content)
  return file
}

/** Creates the user, or changes its password. */
async function setScramPassword(broker: string, name: string, secret: string): Promise<void> {
  const [host, port] = broker.split(':') as [string, string]
  const connection = new Connection('test')
  await connection.connect(host, Number(port))
  const salt = Buffer.from('salt-of-the-test')
  const saltedPassword = pbkdf2Sync(secret, salt, 4096, 64, 'sha512')
  const upsertion = { name, mechanism: 2, iterations: 4096, salt, saltedPassword }
  await alterUserScramCredentialsV0.api.async(connection, [], [upsertion])
  await connection.close()
}

describeWithJava('on a Kafka with TLS, and SASL sessions that expire after two seconds', () => {
  let certificates: Certificates
  let endpoint: Awaited<ReturnType<typeof startTokenEndpoint>>
  let names = 0

  const kafka = ownKafka(async () => {
    certificates = await makeCertificates()
    endpoint = await startTokenEndpoint()
    const outer = 'listener.name.outer'
    const module = 'org.apache.kafka.common.security'
    return {
      users: { [user]: password },
      properties: () => ({
        'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,OUTER:SASL_SSL,CONTROLLER:PLAINTEXT',
        'super.users': `User:ANONYMOUS;User:${user};User:${rotated}`,
        'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512,OAUTHBEARER',
        'connections.max.reauth.ms': String(sessionMs),
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': certificates.brokerFile,
        'ssl.truststore.type': 'PEM',
        'ssl.truststore.location': certificates.caFile,
        [`${outer}.ssl.client.auth`]: 'required',
        [`${outer}.scram-sha-512.sasl.jaas.config`]: `${module}.scram.ScramLoginModule required;`,
        [`${outer}.oauthbearer.sasl.jaas.config`]: `${module}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
      }),
    }
  })
  beforeAll(() => setScramPassword(kafka.brokers[0]!, user, password))
  afterAll(async () => {
    endpoint?.close()
    await certificates?.remove()
  })

  const environment = (login: Record<string, string>) => ({
    BUSGATE_KAFKA_BROKERS: kafka.outerBrokers.join(),
    BUSGATE_KAFKA_GROUP_ID: `secure-${names}`,
    BUSGATE_KAFKA_START_FROM: 'earliest',
    BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1',
    BUSGATE_KAFKA_SSL_CA_FILE: certificates.caFile,
    BUSGATE_KAFKA_SSL_CERT: certificates.cert,
    BUSGATE_KAFKA_SSL_KEY: certificates.key,
    ...login,
  })

  async function open(login: Record<string, string>) {
    const telemetry = new Telemetry()
    const warnings: string[] = []
    telemetry.on('bus.log', ({ level, message }) => level !== 'info' && warnings.push(message))
    const bus = await openBus(loadSettings({ env: environment(login) }), telemetry)
    onTestFinished(() => bus.close())
    return { bus, warnings }
  }

  const known = { BUSGATE_KAFKA_SASL_USERNAME: user, BUSGATE_KAFKA_SASL_PASSWORD: password }
  const client = () => ({
    BUSGATE_KAFKA_SASL_MECHANISM: 'oauthbearer',
    BUSGATE_KAFKA_SASL_TOKEN_ENDPOINT: endpoint.url,
    BUSGATE_KAFKA_SASL_CLIENT_ID: 'client',
    BUSGATE_KAFKA_SASL_AUDIENCE: 'kafka',
    BUSGATE_KAFKA_SASL_RESOURCE: 'api://kafka',
    BUSGATE_KAFKA_SASL_EXTENSIONS: '{"logicalCluster":"lkc-1","identityPoolId":"pool-1"}',
  })
  const logins: [string, () => Record<string, string>][] = [
    ['plain', () => ({ BUSGATE_KAFKA_SASL_MECHANISM: 'plain', ...known })],
    ['scram-sha-512', () => ({ BUSGATE_KAFKA_SASL_MECHANISM: 'scram-sha-512', ...known })],
    ['oauthbearer', () => ({ ...client(), BUSGATE_KAFKA_SASL_CLIENT_SECRET: 'its-secret' })],
  ]

  test.each(logins)(
    'with %s a process reads and stays in its group while its connections sign in repeatedly',
    async (_, login) => {
      const topic = `secure-${++names}`
      await createTopics(kafka.brokers, [{ topic, partitions: 1 }])
      const producer = await openKafkajsProducer(kafka.brokers)
      const { bus, warnings } = await open(login())
      const keys = await readKeys(bus, topic)
      const listener = new TestListener()
      const membership = await bus.join([topic], listener)
      await until(() => expect(listener.sessions.size).toBe(1))
      const session = listener.session()
      await session.committed()
      const sent: string[] = []
      for (const end = performance.now() + 3 * sessionMs; performance.now() < end; ) {
        sent.push(`key ${sent.length}`)
        await producer.send({ topic, messages: [{ key: sent.at(-1)!, value: null }] })
        await until(() => expect([keys.length, listener.fresh.length]).toEqual([sent.length, sent.length]))
        expect(await bus.partitions([topic])).toEqual(new Map([[topic, 1]]))
        expect(membership.hasLease()).toBe(true)
      }
      expect(keys).toEqual(sent)
      expect(listener.session()).toBe(session)
      await until(() => expect(membership.trouble()).toBeNull())
      const isSlow = /no answer to \w+ within/ // on a busy machine
      expect(warnings.filter(warning => !isSlow.test(warning))).toEqual([])
    },
  )

  test('a token is requested when the last one expires, not for each connection', () => {
    expect(endpoint.requests()).toBeLessThan(12)
  })

  test('a worker whose password was changed at the brokers says so, and continues once its file has it', async () => {
    const passwordFile = fileWith('the-first')
    await setScramPassword(kafka.brokers[0]!, rotated, 'the-first')
    const log: string[] = []
    const { ca, cert, key } = certificates
    const sasl = { mechanism: 'scram-sha-512', username: rotated, passwordFile }
    const world = await startWorld({
      brokers: { brokers: kafka.outerBrokers, registryUrl: 'http://127.0.0.1:1' },
      registry: embeddedRegistry(),
      logger: createLogger('info', { write: line => log.push(line) }),
      settings: {
        kafka: { ssl: { ca, cert, key }, sasl },
        gateway: { timeoutMs: 5_000 },
        doubts: { waitMs: 6_000 },
      },
    })
    const upstream = await openKafkajsProducer(kafka.brokers)
    const topic = world.settings.topics.commands.at(-1)!
    let sent = 0
    const send = async (count: number) => {
      const messages = Array.from({ length: count }, () => {
        const id = BigInt(++sent)
        return { key: String(id), value: world.encode(buildCommand({ id })) }
      })
      await upstream.send({ topic, messages })
    }
    /** Sends until a condition holds, so that requests are in flight when connections end. */
    const sendUntil = async (holds: () => unknown) => {
      await vi.waitFor(
        async () => {
          await send(3)
          await holds()
        },
        { timeout: 60_000, interval: 50 },
      )
    }
    await sendUntil(() => expect(world.results().length).toBeGreaterThan(20))

    await setScramPassword(kafka.brokers[0]!, rotated, 'the-second')
    await sendUntil(() => expect(world.worker.ready().reasons.join()).toContain('Check kafka.sasl'))
    const before = log.length
    await send(30)
    await sendUntil(() => expect(log.filter(line => line.includes('Check kafka.sasl'))).not.toEqual([]))
    expect(world.worker.ready().ready).toBe(false)
    expect(log.length - before).toBeLessThan(20)

    writeFileSync(passwordFile, 'the-second')
    await sendUntil(() => expect(world.worker.ready()).toMatchObject({ ready: true, reasons: [] }))
    await world.finished(sent)
    await world.quiet()
    expect(world.results().filter(({ final }) => final)).toHaveLength(sent)
    expect(world.sandbox.stats()).toMatchObject({ executed: sent, billedTwice: 0 })
    expect(log.join('')).not.toMatch(/the-(first|second)/)
  })

  test('topics create signs in with a token', async () => {
    const topic = `secure-${++names}`
    const env = environment({ ...client(), BUSGATE_KAFKA_SASL_CLIENT_SECRET: 'its-secret' })
    await createMissingTopics(loadSettings({ env }), [{ topic, partitions: 2 }])
    const { bus } = await open(logins[0]![1]())
    expect(await bus.partitions([topic])).toEqual(new Map([[topic, 2]]))
  })

  test('a wrong client secret fails at once', async () => {
    const { bus } = await open({ ...client(), BUSGATE_KAFKA_SASL_CLIENT_SECRET: 'another' })
    await expect(bus.partitions(['any'])).rejects.toThrow(/refuses a token \(401, invalid_client\)/)
  })

  test('a broker is not used until the CA file holds the authority of its certificate', async () => {
    const caFile = fileWith(certificates.cert)
    const { bus, warnings } = await open({ ...logins[0]![1](), BUSGATE_KAFKA_SSL_CA_FILE: caFile })
    await expect(bus.partitions(['any'])).rejects.toThrow(/certificate|self.signed|signature/i)
    expect(warnings).toHaveLength(1)
    writeFileSync(caFile, certificates.ca)
    await until(async () => expect(await bus.partitions(['any'])).toEqual(new Map())) // there is no such topic
  })
})
