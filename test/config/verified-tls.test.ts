import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { Connection } from '@platformatic/kafka'
import { afterAll, afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { optionsOf } from '../../src/bus/cluster/connecting.ts'
import { Tokens } from '../../src/bus/cluster/tokens.ts'
import { registryAdmin } from '../../src/cli/registry-admin.ts'
import { systemClock } from '../../src/clock.ts'
import { loadSettings } from '../../src/config/index.ts'
import { Secret } from '../../src/config/secret.ts'
import { connectGateway } from '../../src/gateway/connection.ts'
import { confluentRegistry, registryOf } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { makeCertificates } from '../support/certificates.ts'
import { portOf } from '../support/scripted-server.ts'

const certificates = await makeCertificates()
afterAll(() => certificates.remove())
afterEach(() => {
  vi.unstubAllEnvs()
})

/** A server with an untrusted certificate, which records all data that it receives. */
async function startImpostor() {
  const received: Buffer[] = []
  const pem = readFileSync(certificates.brokerFile)
  const server = tls.createServer({ key: pem, cert: pem }, socket => {
    socket.on('data', piece => received.push(piece)).on('error', () => {})
  })
  return { port: await portOf(server), received }
}

const refused = (error: Error) => error.message
const settingsFor = (url: string) => loadSettings({ env: { BUSGATE_REGISTRY_URL: url, BUSGATE_REGISTRY_TOKEN: 'a' } })

const limits = { timeoutMs: 5_000, connections: 1, ca: undefined, keepAliveMs: undefined, maxResponseBytes: undefined }

/** Each connects to a port and returns the error. */
const ways: Record<string, (port: number) => Promise<unknown>> = {
  'the gateway': async port => {
    const gateway = connectGateway({ ...limits, url: `https://127.0.0.1:${port}` })
    onTestFinished(() => gateway.close())
    return gateway.post('{"auth":"a key"}', () => null)
  },
  'an https proxy in front of the gateway': async port => {
    vi.stubEnv('HTTPS_PROXY', `https://me:secret@127.0.0.1:${port}`)
    const gateway = connectGateway({ ...limits, url: 'https://gateway.example' })
    onTestFinished(() => gateway.close())
    return gateway.post('{"auth":"a key"}', () => null)
  },
  'the registry': port =>
    registryOf(settingsFor(`https://127.0.0.1:${port}`))
      .idOf('any', schemas.command)
      .catch(refused),
  'the registry, from a service': port =>
    confluentRegistry({ url: `https://127.0.0.1:${port}` })
      .schemaOf(1)
      .catch(refused),
  'the registry, from the command line': port =>
    registryAdmin(settingsFor(`https://127.0.0.1:${port}`))
      .levelOfAll()
      .catch(refused),
  'a broker': async port => {
    const place = { host: '127.0.0.1', port }
    const connection = new Connection('test', optionsOf({ ssl: true }, place))
    onTestFinished(() => connection.close())
    try {
      await connection.connect(place.host, place.port)
      return 'connected'
    } catch (error) {
      return String((error as Error).cause ?? error)
    }
  },
  'the token endpoint of brokers': port => {
    const source = {
      tokenEndpoint: `https://127.0.0.1:${port}`,
      clientId: 'me',
      clientSecret: new Secret(() => 'secret'),
    }
    return new Tokens({ ...source, scope: undefined }, systemClock).get().catch(refused)
  },
}

test.each(Object.entries(ways))(
  '%s with an untrusted certificate receives nothing, whatever NODE_TLS_REJECT_UNAUTHORIZED says',
  async (_, ask) => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const { port, received } = await startImpostor()
    expect(JSON.stringify(await ask(port))).toMatch(/unable.to.verify|not trusted/i)
    expect(received).toEqual([])
  },
)
