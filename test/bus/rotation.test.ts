import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Brokers } from '../../src/bus/cluster/brokers.ts'
import { securityOf } from '../../src/bus/cluster/connecting.ts'
import { systemClock } from '../../src/clock.ts'
import { loadSettings } from '../../src/config/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { makeCertificates } from '../support/certificates.ts'
import { FakeBroker, keys, metadataOf } from '../support/fake-broker.ts'

/** A secret in a file, which can be replaced. */
function secretFile(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'busgate-rotation-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'secret')
  writeFileSync(file, text)
  const replace = (next: string) => {
    const before = statSync(file).mtimeMs
    writeFileSync(file, next)
    utimesSync(file, new Date(), new Date(before + 1000))
  }
  return { file, replace }
}

/** A broker that takes any password of PLAIN, and notes it. */
async function startSecure() {
  const broker = await FakeBroker.start()
  broker.on(keys.metadata, metadataOf([broker]))
  const passwords: string[] = []
  broker.on(keys.handshake, ({ fields }) => {
    const to = fields().int16(0)
    return to.array(['PLAIN'], mechanism => void to.string(mechanism))
  })
  broker.on(keys.authenticate, ({ bytes, version, fields }) => {
    passwords.push(bytes().toString().split('\0')[2]!)
    const to = fields().int16(0).string(null).buffer(Buffer.alloc(0))
    return version >= 1 ? to.int64(0) : to
  })
  return { broker, passwords }
}

const telemetry = new Telemetry()
const clientId = 'test'

/** Opens a connection anew each time, by the settings that were loaded once. */
function client(env: Record<string, string>, seeds: string[]): () => Promise<unknown> {
  const security = securityOf(loadSettings({ env }).kafka, systemClock)
  return async () => {
    const brokers = new Brokers({ ...security, clientId, seeds, clock: systemClock, telemetry })
    await brokers.refresh().finally(() => brokers.close())
  }
}

test('the worker signs in with the password that its file holds now', async () => {
  const { broker, passwords } = await startSecure()
  const { file, replace } = secretFile('the first\n')
  const login = { BUSGATE_KAFKA_SASL_MECHANISM: 'plain', BUSGATE_KAFKA_SASL_USERNAME: 'narrow' }
  const connect = client({ ...login, BUSGATE_KAFKA_SASL_PASSWORD_FILE: file }, [broker.place])
  await connect()
  expect(passwords.at(-1)).toBe('the first')
  replace('the second\n')
  await vi.waitFor(
    async () => {
      await connect()
      expect(passwords.at(-1)).toBe('the second')
    },
    { timeout: 10_000, interval: 200 },
  )
})

test('the worker trusts the certificate authority that its file holds now', async () => {
  const [certificates, others] = await Promise.all([makeCertificates(), makeCertificates()])
  onTestFinished(() => Promise.all([certificates.remove(), others.remove()]).then(() => {}))
  const { broker } = await startSecure()
  const pem = readFileSync(certificates.brokerFile)
  const server = tls.createServer({ key: pem, cert: pem }, outer => {
    const inner = net.connect(broker.port, '127.0.0.1')
    outer.on('error', () => inner.destroy()).pipe(inner)
    inner.on('error', () => outer.destroy()).pipe(outer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { file, replace } = secretFile(others.ca)
  const connect = client({ BUSGATE_KAFKA_SSL_CA_FILE: file }, [`127.0.0.1:${(server.address() as AddressInfo).port}`])
  await expect(connect()).rejects.toThrow(/certificate|signature/i)
  replace(certificates.ca)
  await vi.waitFor(connect, { timeout: 10_000, interval: 200 })
})
