import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { busgate } from '../support/cli.ts'
import { commandsFrom } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { observeFor, startWorld, type World } from '../support/worker.ts'

async function readyz({ worker }: World) {
  const response = await fetch(`http://127.0.0.1:${worker.ports.telemetry}/readyz`)
  return { status: response.status, ...((await response.json()) as { paused: string[] }) }
}

describeOnKafka('pause, resume and status', brokers => {
  test('stop a topic on all workers within two seconds, and over restarts, until it is resumed', async () => {
    const world = await startWorld({ brokers, partitions: 4 })
    await world.startWorker()
    const env = environmentOf(world)
    const [urgent, bulk] = world.settings.topics.commands as [string, string]
    const executed = () => world.sandbox.stats().executed
    let next = 1
    let isProducing = true
    const producing = (async () => {
      while (isProducing) {
        await world.send(commandsFrom(next, 20))
        next += 20
        await observeFor(50)
      }
    })()
    await until(() => expect(executed()).toBeGreaterThan(100))

    const paused = await busgate(['pause', '--topic', bulk, '--reason', 'a stock-taking', '--by', 'olena'], { env })
    expect(paused.stderr).toContain(`topic ${bulk} is paused until it is resumed`)
    expect(paused.code).toBe(0)
    await observeFor(2_000)
    const before = executed()
    await observeFor(2_000)
    await world.worker.close()
    const third = await world.startWorker()
    await until(() => expect(third.ready().ready).toBe(true))
    expect(third.ready().paused).toEqual([expect.stringMatching(`^topic ${bulk} is paused by olena since `)])
    isProducing = false
    await producing
    expect(executed()).toBe(before)

    await world.send(commandsFrom(1_000_001, 10), urgent)
    await until(() => expect(executed()).toBe(before + 10))
    const status = await busgate(['status', '--json'], { env })
    const lines = status.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const pause = { kind: 'topic', name: bulk, paused: true, by: 'olena', reason: 'a stock-taking' }
    expect(lines).toContainEqual(expect.objectContaining(pause))
    const waiting = next - 1 - before
    expect(lines).toContainEqual({ topic: bulk, commands: waiting, deleted: 0, perSecond: expect.any(Number) })
    expect(lines).toContainEqual({ topic: world.settings.topics.doubts, inDoubt: 0 })

    expect((await busgate(['resume', '--topic', bulk], { env })).code).toBe(0)
    await world.finished(next - 1 + 10)
    await world.quiet()
    expect(world.sandbox.stats()).toMatchObject({ executed: next - 1 + 10, billedTwice: 0 })
    const history = await busgate(['status', '--history'], { env })
    expect(history.stdout).toMatch(
      new RegExp(`^topic ${bulk} is paused by olena .*\\ntopic ${bulk} was resumed by `, 'm'),
    )
  })

  test('say what is wrong with their arguments, and change nothing', async () => {
    const world = await startWorld({ brokers })
    const env = environmentOf(world)
    const wrong = async (...args: string[]) => {
      const { code, stderr } = await busgate(args, { env })
      return { code, stderr }
    }
    const [urgent] = world.settings.topics.commands
    expect(await wrong('pause', '--topic', 'busgate.comands', '--reason', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`the command topics are ${urgent}`),
    })
    expect(await wrong('pause', '--account', 'defualt', '--reason', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the nearest is default'),
    })
    expect(await wrong('pause')).toMatchObject({ code: 2, stderr: expect.stringContaining('name one of --account') })
    expect(await wrong('pause', '--account', 'default', '--tenant', 'acme')).toMatchObject({ code: 2 })
    expect(await wrong('pause', '--account', 'default', '--until', 'yesterday')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--until: expected a duration'),
    })
    expect(await wrong('resume', '--tenant', 'acme')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('tenant acme is not paused; nothing is'),
    })
    expect(await wrong('resume', '--all')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No operator has paused anything'),
    })
    const hour = (ahead: number) => new Date(Date.now() + ahead * 3_600_000).toISOString().slice(11, 13)
    const quiet = { ...env, BUSGATE_GATEWAY_QUIET_HOURS: `${hour(0)}:00-${hour(2)}:00 UTC` }
    const refused = await busgate(['resume', '--account', 'default'], { env: quiet })
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'account default is not paused; nothing is; quiet hours of account default continue: resume does not end them',
      ),
    })
    expect((await busgate(['status'], { env })).stdout).toMatch(/^Nothing is held back\.\n/)
    const nowhere = { ...env, BUSGATE_TOPICS_CONTROL: `${world.settings.topics.control}-gone` }
    const missing = await busgate(['pause', '--tenant', 'acme', '--reason', 'x'], { env: nowhere })
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain('create it with busgate topics create')
    expect(await readyz(world)).toMatchObject({ status: 200, paused: [] })
  })
})
