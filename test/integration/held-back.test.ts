import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { busgateHere, jsonOf } from '../support/cli.ts'
import { commandsFrom } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { startWorld } from '../support/worker.ts'

const keys = { default: 'sandbox-key', shop: 'shop-key' }
const settings = { gateway: { accounts: { shop: { apiKey: 'shop-key' } } } }
const refused = { ...keys, shop: 'another-key' }

/** What the support desk reads about a message: the last line of `busgate message`. */
async function conclusionOf(id: number, env: Record<string, string>): Promise<string> {
  const { stdout, stderr } = await busgateHere(['message', String(id)], { env })
  return stdout.trim().split('\n').at(-1) || stderr
}

describeOnKafka('what holds commands back', brokers => {
  test('is told by status and message in the words of /readyz, until the key is mended', async () => {
    const world = await startWorld({ brokers, settings, sandbox: { keys } })
    const env = environmentOf(world)
    world.sandbox.setKeys(refused)
    await world.send(commandsFrom(1, 3, { account: 'shop' }))
    await until(() => expect(world.worker.ready().warnings[0]).toMatch(/; 3 commands wait with it\./))
    const [words] = world.worker.ready().warnings[0]!.split(/; 3 commands/)
    expect(words).toMatch(/^account shop has been held back since \S+, because the gateway refuses its key$/)
    const sentence = `A${words!.slice(1)}; 3 commands wait with it. The operator must replace the key.`

    await until(async () => {
      const { stdout, code } = await busgateHere(['status', '--exit-code'], { env })
      expect(stdout.split('\n')[0]).toBe(sentence)
      expect(code).toBe(3)
    })
    expect(await conclusionOf(1, env)).toBe(`Not sent yet: a${sentence.slice(1)}`)
    const [held] = jsonOf(await busgateHere(['status', '--json'], { env }))
    expect(held).toMatchObject({ hold: 'account', name: 'shop', reason: 'denied', waiting: 3 })

    world.sandbox.setKeys(keys)
    await world.finished(3)
    await until(async () => {
      const { stdout, code } = await busgateHere(['status', '--exit-code'], { env })
      expect(stdout).toMatch(/^Nothing is held back\.\n/)
      expect(code).toBe(0)
    })
    expect(world.worker.ready().warnings).toEqual([])
  }, 120_000)
})
