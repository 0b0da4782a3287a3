import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { registryAdmin } from '../../src/cli/registry-admin.ts'
import { loadSettings, verifiedTls } from '../../src/config/index.ts'
import { confluentRegistry, registryOf } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { makeCertificates } from '../support/certificates.ts'
import { portOf } from '../support/scripted-server.ts'
import { startRegistry } from './registry-server.ts'

const [certificates, others] = await Promise.all([makeCertificates(), makeCertificates()])
afterAll(() => Promise.all([certificates.remove(), others.remove()]))

/** Starts a registry that records the login of each request. With `tls` it requires a client certificate. */
async function startSecure(options: { tls: boolean }) {
  const registry = await startRegistry()
  onTestFinished(() => registry.stop())
  const logins: (string | undefined)[] = []
  registry.fail((request, response) => {
    logins.push(request.headers.authorization)
    response.writeHead(200).end('{"id":3,"compatibilityLevel":"FULL_TRANSITIVE"}')
  })
  if (!options.tls) return { url: registry.url, logins }
  const pem = readFileSync(certificates.brokerFile)
  const known = { key: pem, cert: pem, ca: certificates.ca, requestCert: true, rejectUnauthorized: true }
  const server = tls.createServer(known, outer => {
    const inner = net.connect(Number(new URL(registry.url).port), '127.0.0.1')
    outer.on('error', () => inner.destroy()).pipe(inner)
    inner.on('error', () => outer.destroy()).pipe(outer)
  })
  return { url: `https://127.0.0.1:${await portOf(server)}`, logins }
}

/** Sends the requests of a worker and those of the command line. */
async function ask(env: Record<string, string>) {
  const settings = loadSettings({ env })
  return [await registryOf(settings).idOf('any', schemas.result), await registryAdmin(settings).levelOfAll()]
}

test('a registry gets a bearer token', async () => {
  const { url, logins } = await startSecure({ tls: false })
  expect(await ask({ BUSGATE_REGISTRY_URL: url, BUSGATE_REGISTRY_TOKEN: 'its-token' })).toEqual([3, 'FULL_TRANSITIVE'])
  expect(new Set(logins)).toEqual(new Set(['Bearer its-token']))
})

test('a registry gets no login unless one is set', async () => {
  const { url, logins } = await startSecure({ tls: false })
  await ask({ BUSGATE_REGISTRY_URL: url })
  expect(new Set(logins)).toEqual(new Set([undefined]))
})

test('a registry is asked in JSON to set a level, and to find the version of a schema', async () => {
  const registry = await startRegistry()
  onTestFinished(() => registry.stop())
  const asked: unknown[] = []
  registry.fail(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join(''))
    asked.push([request.method, request.url, request.headers['content-type'], body])
    response.writeHead(200).end('{"version":2}')
  })
  const admin = registryAdmin(loadSettings({ env: { BUSGATE_REGISTRY_URL: registry.url } }))
  await admin.setLevel('a b', 'BACKWARD')
  expect(await admin.versionOf('any', { type: 'string' })).toBe(2)
  const type = 'application/vnd.schemaregistry.v1+json'
  expect(asked).toEqual([
    ['PUT', '/config/a%20b', type, { compatibility: 'BACKWARD' }],
    ['POST', '/subjects/any', type, { schema: '{"type":"string"}' }],
  ])
})

test('a changed token is used from the next request on', async () => {
  const { url, logins } = await startSecure({ tls: false })
  let token = 'first'
  const registry = confluentRegistry({ url, token: () => token })
  await registry.idOf('any', schemas.result)
  token = 'second'
  await registry.idOf('any', schemas.result)
  expect([...new Set(logins)]).toEqual(['Bearer first', 'Bearer second'])
})

test('a refused token is reported with its setting', async () => {
  const registry = await startRegistry()
  onTestFinished(() => registry.stop())
  registry.fail((_, response) => response.writeHead(401).end('{"error_code":401,"message":"no"}'))
  const env = { BUSGATE_REGISTRY_URL: registry.url, BUSGATE_REGISTRY_TOKEN: 'its-token' }
  await expect(ask(env)).rejects.toThrow(/refuses the credentials \(401\): check registry\.token\.$/)
  await expect(registryAdmin(loadSettings({ env })).levelOfAll()).rejects.toThrow(/refuses registry\.token \(401\)/)
})

test('a registry with its own certificate authority gets the client certificate', async () => {
  const { url, logins } = await startSecure({ tls: true })
  const answer = await ask({
    BUSGATE_REGISTRY_URL: url,
    BUSGATE_REGISTRY_USERNAME: 'u',
    BUSGATE_REGISTRY_PASSWORD: 'p',
    BUSGATE_REGISTRY_SSL_CA: certificates.ca,
    BUSGATE_REGISTRY_SSL_CERT: certificates.cert,
    BUSGATE_REGISTRY_SSL_KEY: certificates.key,
  })
  expect(answer).toEqual([3, 'FULL_TRANSITIVE'])
  const login = `Basic ${Buffer.from('u:p').toString('base64')}`
  expect(new Set(logins)).toEqual(new Set([login]))
})

test.each([
  ['has an untrusted certificate', () => ({})],
  ['has a certificate of another CA', () => ({ BUSGATE_REGISTRY_SSL_CA: others.ca })],
  ['requires a client certificate', () => ({ BUSGATE_REGISTRY_SSL_CA: certificates.ca })],
])('a registry that %s receives nothing', async (_, env) => {
  const { url, logins } = await startSecure({ tls: true })
  const settings = loadSettings({ env: { BUSGATE_REGISTRY_URL: url, BUSGATE_REGISTRY_TOKEN: 'its-token', ...env() } })
  await expect(registryOf(settings).idOf('any', schemas.result)).rejects.toThrow(/did not answer/)
  await expect(registryAdmin(settings).levelOfAll()).rejects.toThrow(/did not answer/)
  expect(logins).toEqual([])
})

test('a renewed certificate is used for the next connection', async () => {
  const { url } = await startSecure({ tls: true })
  let mine = { ca: certificates.ca, cert: others.cert, key: others.key }
  const registry = confluentRegistry({ url, tls: () => ({ ...verifiedTls, ...mine }) })
  await expect(registry.idOf('any', schemas.result)).rejects.toThrow(/did not answer/)
  mine = certificates
  expect(await registry.idOf('any', schemas.result)).toBe(3)
})
