import { expect, test, vi } from 'vitest'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { until } from '../support/bus.ts'
import { busgate } from '../support/cli.ts'
import { commandsFrom } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { buildResult } from '../support/results.ts'
import { startWorld } from '../support/worker.ts'

const withdrawn = { tenant: 'acme', campaign: 'spring' }

/** How many commands wait when the withdrawal comes, while they are sent at full speed. */
const waiting = 100_000

describeOnKafka('a withdrawal', brokers => {
  test('of 100,000 commands stops them while they are sent at full speed, and each has one final result', async () => {
    const world = await startWorld({
      brokers,
      partitions: 4,
      sandbox: { latencyMs: { min: 200, max: 300 } },
    })
    const workers = [world.worker, await world.startWorker()]
    const env = environmentOf(world)
    const executed = () => world.sandbox.stats().executed
    for (let from = 1; from <= waiting; from += 5_000) await world.send(commandsFrom(from, 5_000, withdrawn))
    await until(() => expect(executed()).toBeGreaterThan(2_000))

    const reason = ['--reason', 'wrong price', '--by', 'olena']
    const { code, stderr } = await busgate(['withdraw', '--campaign', 'spring', ...reason, '--yes'], { env })
    expect(stderr).toContain('campaign spring is withdrawn, for commands until ')
    expect(code).toBe(0)
    await until(() => expect(workers.map(worker => worker.ready().withdrawn.length)).toEqual([1, 1]))
    const known = Date.now()
    await vi.waitFor(
      () => expect(world.results().filter(({ final }) => final).length).toBeGreaterThanOrEqual(waiting),
      {
        timeout: 240_000,
        interval: 100,
      },
    )
    const before = executed()
    expect(before).toBeLessThan(waiting)
    expect(world.results().filter(({ sentAt }) => sentAt !== null && sentAt > known)).toEqual([])

    await world.worker.close()
    const third = await world.startWorker()
    await until(() => expect(third.ready().ready).toBe(true))
    expect(third.ready().withdrawn).toEqual([expect.stringMatching('^campaign spring is withdrawn by olena since ')])
    await world.send([...commandsFrom(200_001, 100, withdrawn), ...commandsFrom(300_001, 100, { tenant: 'acme' })])
    await world.finished(waiting + 200)
    expect(executed()).toBe(before + 100)

    const found = await busgate(['message', '200001'], { env })
    expect(found.stdout).toContain('Not sent: its campaign was withdrawn by olena: wrong price.')
    const status = await busgate(['status', '--results'], { env })
    const unsent = waiting + 100 - before
    const counted = `${before} sent, ${unsent} not sent (${unsent} WITHDRAWN), 0 unresolved`
    expect(status.stdout).toMatch(/^campaign spring is withdrawn by olena since .*: wrong price$/m)
    expect(status.stdout.split('\n').find(line => line.startsWith('campaign spring, results since'))).toContain(counted)
    await world.quiet()
    const final = world.results().filter(result => result.final)
    expect(new Set(final.map(({ id }) => id)).size).toBe(waiting + 200)
    expect(final).toHaveLength(waiting + 200)
    expect(final.filter(({ outcome }) => outcome === 'SENT')).toHaveLength(before + 100)
    expect(world.sandbox.stats().billedTwice).toBe(0)
  })

  test('of one message is in busgate status, and ends with --end; wrong arguments are refused', async () => {
    const world = await startWorld({ brokers })
    const env = environmentOf(world)
    const run = (...args: string[]) => busgate(args, { env })
    expect(await run('withdraw', '--id', '7', '--account', 'defualt', '--reason', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the nearest is default'),
    })
    expect(await run('withdraw', '--campaign', 'x', '--end')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('campaign x is not withdrawn'),
    })
    expect((await run('withdraw', '--id', '7', '--reason', 'a slip', '--yes')).code).toBe(0)
    await until(() => expect(world.worker.ready().withdrawn).toHaveLength(1))
    await world.send(commandsFrom(6, 3))
    await world.finished(3)
    expect(
      world
        .results()
        .map(({ id, outcome }) => `${id} ${outcome}`)
        .sort(),
    ).toEqual(['6 SENT', '7 EXPIRED', '8 SENT'])
    expect((await run('status')).stdout).toMatch(/^message 7 of account default is withdrawn by .*: a slip$/m)
    expect((await run('withdraw', '--id', '7', '--end')).code).toBe(0)
    await until(() => expect(world.worker.ready().withdrawn).toEqual([]))
    const { stdout } = await run('status', '--history')
    expect(stdout).toMatch(/^message 7 of account default is withdrawn by .*: a slip$/m)
    expect(stdout).toContain('message 7 of account default is no longer withdrawn, by ')

    const [, bulk = ''] = world.settings.topics.commands
    await run('pause', '--topic', bulk, '--reason', 'a look')
    await until(() => expect(world.worker.ready().paused).toHaveLength(1))
    await world.send([...commandsFrom(101, 3, withdrawn), ...commandsFrom(201, 2)])
    const asked = await run('withdraw', '--campaign', 'spring')
    expect(asked).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /spring: 3 unsent commands\.\n.*nothing was withdrawn: --yes withdraws campaign spring\./,
      ),
    })
    expect((await run('status')).stdout).not.toContain('campaign spring is withdrawn')
    expect(world.worker.ready().withdrawn).toEqual([])
    expect((await run('status', '--results')).stdout).toContain('There is no withdrawal whose results to count')
  })

  test('counts no result of an earlier withdrawal of the same name, and none after its end', async () => {
    const world = await startWorld({ brokers })
    const { results: topic } = world.settings.topics
    const encode = await createEncoder<SendResult>(subjectOf(topic), schemas.result, world.registry)
    const completedAt = Date.now() - 3_600_000
    const withdrawnResult = { outcome: 'EXPIRED', errorCode: 'WITHDRAWN' } as const
    for (const result of [{ id: 1n }, { id: 2n, ...withdrawnResult }]) {
      await world.produceRaw(encode(buildResult({ ...result, campaign: 'spring', completedAt })), { topic })
    }
    await world.send(commandsFrom(3, 2, withdrawn))
    await world.finished(4)
    const run = (...args: string[]) => busgate(args, { env: environmentOf(world) })
    await run('withdraw', '--campaign', 'spring', '--reason', 'wrong price', '--yes')
    await until(() => expect(world.worker.ready().withdrawn).toHaveLength(1))
    await world.send(commandsFrom(5, 1, withdrawn))
    await world.finished(5)
    const counted = '3 sent, 1 not sent (1 WITHDRAWN), 0 unresolved'
    expect((await run('status', '--results')).stdout).toContain(counted)

    await run('withdraw', '--campaign', 'spring', '--end')
    await until(() => expect(world.worker.ready().withdrawn).toEqual([]))
    await world.send(commandsFrom(6, 1, withdrawn))
    await world.finished(6)
    expect((await run('status', '--history', '--results')).stdout).toContain(counted)
  })
})
