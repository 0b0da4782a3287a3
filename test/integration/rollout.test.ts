import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { startBusgate } from '../support/cli.ts'
import { buildCommand, commandsFrom } from '../support/commands.ts'
import { diagnose } from '../support/doctor.ts'
import { environmentOf } from '../support/environment.ts'
import { allEventsOf } from '../support/events.ts'
import { describeOnKafka } from '../support/integration.ts'
import { keyFile } from '../support/key-file.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { probe } from '../support/probe.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { startWorld, type World } from '../support/worker.ts'

const partitions = 4

/** A successor's gateway or key, which does not work until it is mended. */
interface Trouble {
  env: Record<string, string>
  why: string
  mend: () => Promise<void> | void
}

async function noGateway({ sandbox }: World): Promise<Trouble> {
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  return {
    env: { BUSGATE_GATEWAY_URL: url },
    why: `the gateway at ${url} (gateway.url, BUSGATE_GATEWAY_URL) accepts a key: account default: connect ECONNREFUSED`,
    mend: async () => void (await startProxy(sandbox.url, port)),
  }
}

async function foreignGateway({ sandbox }: World): Promise<Trouble> {
  const proxy = await startProxy(sandbox.url)
  proxy.answer = () => ({ status: 404, body: 'not here' })
  return {
    env: { BUSGATE_GATEWAY_URL: proxy.url },
    why: `the gateway at ${proxy.url} (gateway.url, BUSGATE_GATEWAY_URL) accepts a key: account default: HTTP 404`,
    mend() {
      proxy.answer = () => undefined
    },
  }
}

async function wrongKey(): Promise<Trouble> {
  const file = await keyFile('mistyped')
  return {
    env: { BUSGATE_GATEWAY_API_KEY: '', BUSGATE_GATEWAY_API_KEY_FILE: file },
    why: 'account default: Access denied; put its key into the file of gateway.apiKeyFile (BUSGATE_GATEWAY_API_KEY_FILE)',
    mend: () => writeFile(file, 'sandbox-key\n'),
  }
}

describeOnKafka('a rolling update', brokers => {
  test.each([
    ['an address where no gateway listens', noGateway],
    ['a gateway that answers 404', foreignGateway],
    ['a key that is refused', wrongKey],
  ])(
    'to %s leaves all partitions with the old worker, and goes on once that is mended',
    async (_, troubleIn) => {
      const world = await startWorld({ brokers, partitions })
      const old = world.worker
      await until(() => expect(old.ready().ready).toBe(true))
      const lost: string[] = []
      allEventsOf(old).on('session.closed', ({ topic, partition }) => lost.push(`${topic}/${partition}`))
      const { env, why, mend } = await troubleIn(world)
      const [port] = await freePorts(1)
      const successor = startBusgate(['run'], {
        env: { ...environmentOf(world), ...env, BUSGATE_ROLES: 'worker', BUSGATE_TELEMETRY_PORT: String(port) },
      })
      await until(async () => expect((await probe(port!, 'started')).passes).toBe(true))
      await until(async () => {
        expect(await probe(port!, 'ready')).toMatchObject({ passes: false, output: expect.stringContaining(why) })
      })
      expect(await successor.line('gateway.unproved')).toContain(why)
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
      await world.send(commandsFrom(1, 200))
      await world.finished(200)
      expect(lost).toEqual([])
      expect(old.ready()).toMatchObject({ ready: true, reasons: [], warnings: [] })
      expect(await probe(port!, 'ready')).toMatchObject({ passes: false })
      expect(successor.stdout()).not.toContain('session.opened')

      await mend()
      await old.close() // a process with another gateway.url joins only once the others are gone
      await until(async () => expect(await probe(port!, 'ready')).toEqual({ passes: true, output: '' }))
      await world.send(commandsFrom(201, 200))
      await world.finished(400)
      successor.signal('SIGTERM')
      expect((await successor.ended).code).toBe(0)
      await world.quiet()
      expect(world.results()).toHaveLength(400)
      expect(world.sandbox.stats()).toMatchObject({ executed: 400, billedTwice: 0 })
    },
    120_000,
  )

  test('is refused by the doctor if it would lose a key that works now, and else only warned of', async () => {
    const world = await startWorld({
      brokers,
      settings: { gateway: { accounts: { shop: { apiKey: 'shop-key' }, idle: { apiKey: 'expired' } } } },
      sandbox: { keys: { default: 'sandbox-key', shop: 'shop-key' } },
    })
    await world.send([buildCommand({ id: 1n }), buildCommand({ id: 2n, account: 'shop' })])
    await world.finished(2)
    const checks = ['settings', 'gateway', 'cluster', 'topics', 'accounts']
    const ofUpgrade = async (env: Record<string, string>) => {
      const { of } = await diagnose({ ...environmentOf(world), BUSGATE_ROLES: 'worker', ...env }, checks)
      return [...of('gateway'), ...of('accounts')]
        .map(line => line.replace('accepted; 1000000000 UAH', 'accepted'))
        .sort()
    }
    const idle = { BUSGATE_GATEWAY_ACCOUNTS_IDLE_API_KEY: 'expired' }
    const shop = (key: string) => ({ BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: key })
    expect(await ofUpgrade({ ...idle, ...shop('shop-key') })).toEqual([
      expect.stringMatching(/^ok: default: its key is accepted/),
      expect.stringMatching(/^ok: shop: its key is accepted/),
      'ok: the keys of all accounts that send now are accepted',
      'warning: idle: the gateway refuses its key',
    ])
    await world.produceRaw(Buffer.from('no result'), { topic: world.settings.topics.results, key: '1' })
    expect(await ofUpgrade(shop('shop-key'))).toEqual(
      expect.arrayContaining([
        'ok: the keys of all accounts that send now are accepted',
        expect.stringMatching(/^warning: 1 result cannot be read, and may be of other accounts: /),
      ]),
    )
    const sent = 'messages of account shop were sent in the last five minutes'
    expect(await ofUpgrade(shop('mistyped'))).toContain(`failed: ${sent}, and its key here is not accepted`)
    expect(await ofUpgrade({})).toContain(`failed: ${sent}, and these settings have no key for it`)
    const { env } = await noGateway(world)
    const unsaid = await ofUpgrade({ ...env, ...shop('shop-key') })
    expect(unsaid).toContain(`failed: ${sent}, and the gateway did not say whether it accepts its key here`)
    expect(unsaid.join()).not.toContain('is not accepted')
  })

  test('is not stopped by an outage of the gateway: the old worker stays ready through it', async () => {
    const gateway = await startProxy()
    const world = await startWorld({ brokers, partitions, gateway })
    await until(() => expect(world.worker.ready().ready).toBe(true))
    gateway.answer = () => ({ status: 404, body: '' })
    await world.send(commandsFrom(1, 20))
    await until(() => expect(world.worker.ready().warnings).not.toEqual([]))
    expect(await probe(world.worker.ports.telemetry, 'ready')).toEqual({ passes: true, output: '' })
    gateway.answer = () => undefined
    await world.finished(20)
  })
})
