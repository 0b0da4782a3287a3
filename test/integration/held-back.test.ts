import { expect, test } from 'vitest'
import { loadSettings } from '../../src/config/index.ts'
import { RegistryUnavailable } from '../../src/records/errors.ts'
import { registryOf } from '../../src/records/registry.ts'
import { until } from '../support/bus.ts'
import { busgateHere, jsonOf } from '../support/cli.ts'
import { buildCommand, commandsFrom, silentPhone } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startPage, waitForState } from '../support/ui.ts'
import { startWorld, type World } from '../support/worker.ts'

const keys = { default: 'sandbox-key', shop: 'shop-key' }
const settings = { gateway: { accounts: { shop: { apiKey: 'shop-key' } } } }

/** What a support desk reads about a message: the end of `busgate message`. */
async function conclusionOf(id: number, env: Record<string, string>): Promise<string> {
  const { stdout } = await busgateHere(['message', String(id)], { env })
  return stdout.trim().split('\n').at(-1)!
}

const untilTold = (world: World, id: number, text: RegExp, env = environmentOf(world)) =>
  until(async () => expect(await conclusionOf(id, env)).toMatch(text))

describeOnKafka('what holds commands back', brokers => {
  test('is told in the same words by status, message, doctor, the page and /readyz, until the key is mended', async () => {
    const world = await startWorld({ brokers, settings, sandbox: { keys } })
    const env = { ...environmentOf(world), BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'shop-key' }
    const { url } = await startPage(world)
    world.sandbox.setKeys({ ...keys, shop: 'another-key' })
    await world.send(commandsFrom(1, 3, { account: 'shop' }))
    await until(() => expect(world.worker.ready().warnings[0]).toMatch(/; 3 commands wait with it\./))
    const [words = ''] = world.worker.ready().warnings[0]!.split(' The operator must replace the key')
    expect(words).toMatch(
      /^account shop has been held back since \S+, because the gateway refuses its key; 3 commands /,
    )
    const sentence = `A${words.slice(1)}`

    const status = () => busgateHere(['status', '--exit-code'], { env })
    await until(async () => {
      const { stdout, code } = await status()
      expect(stdout).toContain(`${sentence} The operator must replace the key.\n`)
      expect(code).toBe(3)
    })
    const notYet = `Not sent yet: ${words} The operator must replace the key.`
    await until(async () => expect(await conclusionOf(1, env)).toContain(notYet))
    const [held] = jsonOf(await busgateHere(['status', '--json'], { env }))
    expect(held).toMatchObject({ hold: 'account', name: 'shop', reason: 'denied', waiting: 3 })
    const doctor = jsonOf(await busgateHere(['doctor', '--json'], { env })).filter(({ check }) => check === 'workers')
    expect(doctor).toMatchObject([{ state: 'warning', what: sentence, mend: 'The operator must replace the key.' }])
    await waitForState(url, ({ holds }) => holds?.[0]?.text === sentence)

    world.sandbox.setKeys(keys)
    await world.finished(3)
    expect(world.worker.ready().warnings).toEqual([])
    await until(async () =>
      expect(await status()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Nothing is held back\.\n/) }),
    )
    await waitForState(url, ({ holds }) => holds?.length === 0)
  }, 120_000)

  test('is told of one message: a pause, its deadline, a withdrawal, a doubt, and that no worker runs', async () => {
    const world = await startWorld({ brokers, settings: { doubts: { waitMs: 60_000 } } })
    const env = environmentOf(world)
    const [, bulk = ''] = world.settings.topics.commands
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommand({ id: 1n, phone: silentPhone })])
    await untilTold(
      world,
      1,
      /^Perhaps sent: .* It has been in doubt since \S+; the gateway is asked at \S+\. A final /,
    )

    await busgateHere(['pause', '--topic', bulk, '--by', 'olena', '--reason', 'a stock-taking'], { env })
    const deadline = Date.now() + 3_600_000
    await world.send([buildCommand({ id: 2n, deadline }), buildCommand({ id: 3n })])
    const paused = `^Not sent yet: the command at \\S+ waits, because topic ${bulk} is paused by olena since .*: a stock-taking\\.`
    const ends = `Its deadline is ${new Date(deadline).toISOString()}: unsent, it ends EXPIRED\\.$`
    await untilTold(world, 2, new RegExp(`${paused} busgate resume --topic[ =]\\S+ resumes it\\. ${ends}`))
    await busgateHere(['withdraw', '--id', '3', '--reason', 'sold out', '--by', 'olena', '--yes'], { env })
    await untilTold(world, 3, /^Not sent.* withdrawn by olena.*sold out/)

    await world.worker.close()
    await busgateHere(['resume', '--topic', bulk], { env })
    await untilTold(
      world,
      2,
      /^Not sent yet: no worker has reported in the last minute\. The operator must start busgate run/,
    )
    expect((await busgateHere(['status', '--exit-code'], { env })).code).toBe(3)
  }, 120_000)

  test('is told of one message: quiet hours and their end', async () => {
    const hour = (ahead: number) => new Date(Date.now() + ahead * 3_600_000).toISOString().slice(11, 13)
    const quietHours = `${hour(0)}:00-${hour(2)}:00 UTC`
    const world = await startWorld({ brokers, settings: { gateway: { quietHours } } })
    await world.send(commandsFrom(1, 1))
    const env = { ...environmentOf(world), BUSGATE_GATEWAY_QUIET_HOURS: quietHours }
    const end = `${hour(2)}:00:00\\.000Z`
    await untilTold(
      world,
      1,
      new RegExp(`^Not sent yet: the command at \\S+ waits, because .* until \\S+T${end}: `),
      env,
    )
  }, 120_000)

  test('is told of one message: how many are before it, and about how long they take', async () => {
    const world = await startWorld({ brokers, settings: { gateway: { rate: 5, maxOperations: 5 } } })
    await world.send(commandsFrom(1, 1_000))
    await untilTold(
      world,
      1_000,
      /^Not sent yet: it is behind \d+ others in its partition, which finishes \d\.\d a second: its turn comes in about \d+ min\.$/,
    )
  }, 120_000)

  test('is told of one message: a schema that cannot be loaded, also where the message cannot be read', async () => {
    const registry = { url: brokers.registryUrl }
    const inner = registryOf(loadSettings({ env: {}, overrides: { kafka: { brokers: brokers.brokers }, registry } }))
    let isDown = true
    const schemaOf = async (id: number) => {
      if (isDown) throw new RegistryUnavailable('the registry is down')
      return inner.schemaOf(id)
    }
    const world = await startWorld({ brokers, registry: { idOf: inner.idOf, schemaOf } })
    await world.send(commandsFrom(1, 1))
    const words =
      /^Not sent yet: the record at \S+@0 has waited since \S+ for schema \d+: the registry cannot be asked for it\. The operator must restore the schema registry\.$/
    await untilTold(world, 1, words)
    await untilTold(world, 1, words, { ...environmentOf(world), BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' })
    isDown = false
    await world.finished(1)
  }, 120_000)
})
