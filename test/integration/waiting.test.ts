import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { busgate } from '../support/cli.ts'
import { commandsFrom } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { finalOf, startWorld, type World } from '../support/worker.ts'

const hour = 3_600_000
const hourOf = (time: number) => new Date(Math.floor(time / hour) * hour).toISOString()

/** The lines of `busgate status --json` about the table of commands that wait. */
async function waiting({ settings }: World, env: Record<string, string>) {
  const { stdout } = await busgate(['status', '--json'], { env })
  const lines = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  return lines.filter(({ topic }) => topic === settings.topics.later)
}

describeOnKafka('commands that wait', brokers => {
  test('are counted by hour and campaign, explained one by one, and withdrawn at once', async () => {
    const world = await startWorld({ brokers, partitions: 2 })
    const env = environmentOf(world)
    const topic = world.settings.topics.later
    const [soon, tomorrow] = [Date.now() + 3 * hour + 60_000, Date.now() + 25 * hour]
    await world.send(commandsFrom(1, 20, { notBefore: soon, campaign: 'spring' }))
    await world.send(commandsFrom(101, 5, { notBefore: tomorrow }))
    await until(async () =>
      expect(await waiting(world, env)).toEqual([
        { topic, waiting: 20, hour: hourOf(soon), campaign: 'spring' },
        { topic, waiting: 5, hour: hourOf(tomorrow), campaign: null },
      ]),
    )
    const text = (await busgate(['status'], { env })).stdout
    expect(text).toContain(`${topic}: 25 commands wait\n  in the hour from ${hourOf(soon)}: 20 of campaign spring\n`)
    const message = await busgate(['message', '7'], { env })
    expect(message.stdout).toContain(`Not sent yet: it waits until ${new Date(soon).toISOString()} (in 3 h).`)

    const withdraw = ['withdraw', '--campaign', 'spring']
    expect((await busgate(withdraw, { env })).stderr).toContain('campaign spring: 20 unsent commands.')
    expect((await busgate([...withdraw, '--reason', 'sold out', '--yes'], { env })).code).toBe(0)
    await world.finished(20)
    expect(world.results().every(({ errorCode }) => errorCode === 'WITHDRAWN')).toBe(true)
    expect((await busgate(['message', '7'], { env })).stdout).toContain('Not sent: its campaign was withdrawn by ')
    expect(await waiting(world, env)).toEqual([{ topic, waiting: 5, hour: hourOf(tomorrow), campaign: null }])
    expect(world.sandbox.stats().executed).toBe(0)
  })

  test('are sent once at their time, and the result names the record that was written', async () => {
    const world = await startWorld({ brokers, partitions: 2 })
    const env = environmentOf(world)
    const content = [
      '--phone',
      '380501234567',
      '--type',
      'sms',
      '--message',
      '{"sms_message":"Hi","sms_signature":"Shop"}',
    ]
    const before = Date.now()
    const sent = await busgate(['send', '--id', '7', ...content, '--in', '3s', '--wait', '--json'], { env })
    expect(sent).toMatchObject({ code: 0, stderr: 'Wrote 1 command.\n1 of 1 message SENT.\n' })
    const result = finalOf(world, 7n)
    expect(result).toMatchObject({ commandOffset: 0, attempts: 1 })
    expect(result.sentAt).toBeGreaterThanOrEqual(before + 3_000)
    const story = await busgate(['message', '7'], { env })
    expect(story.stdout).toContain('  SENT as ')
    expect(story.stdout.match(/ command /g)).toHaveLength(1)
    expect(world.sandbox.stats()).toMatchObject({ executed: 1, billedTwice: 0 })
  })

  test('for the end of a pause of their campaign are sent once it is resumed, and others meanwhile', async () => {
    const world = await startWorld({ brokers, partitions: 2 })
    const env = environmentOf(world)
    const topic = world.settings.topics.later
    expect((await busgate(['pause', '--campaign', 'spring', '--reason', 'wrong price'], { env })).code).toBe(0)
    await world.send(commandsFrom(1, 50, { campaign: 'spring' }))
    await world.send(commandsFrom(101, 50))
    await world.finished(50)
    await until(async () =>
      expect(await waiting(world, env)).toEqual([{ topic, waiting: 50, hour: null, campaign: 'spring' }]),
    )
    const message = await busgate(['message', '7'], { env })
    expect(message.stdout).toMatch(/waits, because campaign spring is paused by .*: wrong price\./)
    expect((await busgate(['resume', '--campaign', 'spring'], { env })).code).toBe(0)
    await world.finished(100)
    await world.quiet()
    expect(world.sandbox.stats()).toMatchObject({ executed: 100, billedTwice: 0 })
    expect(await waiting(world, env)).toEqual([])
  })
})
