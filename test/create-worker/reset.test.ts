import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { buildCommand, commandsFrom } from '../support/commands.ts'
import { scrape } from '../support/metrics.ts'
import { startWorld, type World } from '../support/worker.ts'

/** The ids and outcomes of all final results. */
function finalsOf(world: World): [bigint, string][] {
  const finals = Map.groupBy(
    world.results().filter(({ final }) => final),
    ({ id }) => id,
  )
  const outcomesOf = (id: bigint) => finals.get(id)!.map(({ outcome }) => outcome)
  return [...finals.keys()].sort((a, b) => Number(a - b)).map(id => [id, outcomesOf(id).sort().join()])
}

/** A dead worker might have sent what has no answer, so it is in doubt: that ends soon. */
const quickDoubts = {
  kafka: { sessionTimeoutMs: 1000 },
  gateway: { timeoutMs: 600, notFoundTexts: ['Message not found'] },
  doubts: { waitMs: 600 },
}

const sentOnce = (count: number) => Array.from({ length: count }, (_, i) => [BigInt(i + 1), 'SENT'])

describe('after a reset of the committed offset', () => {
  test('commands with a result or a dead letter are skipped, and later ones are sent', async () => {
    const world = await startWorld({ settings: quickDoubts })
    await world.send(commandsFrom(1, 50))
    await world.produceRaw(Buffer.from('not a command'))
    await world.send([buildCommand({ id: 60n, extra: { id: '1' } }), buildCommand({ id: 1n })])
    await world.finished(52)
    await until(() => expect(world.deadLetters()).toHaveLength(1))
    await world.worker.close()
    await world.resetOffset(0)

    const worker = await world.startWorker()
    await world.send([buildCommand({ id: 61n }), buildCommand({ id: 2n })])
    await world.finished(54)
    const [topic] = world.settings.topics.commands.slice(-1)
    await until(async () =>
      expect(
        (await scrape(worker.ports.telemetry)).get(`busgate_commands_answered_before_total{topic="${topic}"}`),
      ).toBe(53),
    )
    expect(worker.ready()).toMatchObject({ ready: true, reasons: [] })
    await world.quiet()
    expect(world.sandbox.stats()).toMatchObject({ executed: 51, billedTwice: 0 })
    expect(world.deadLetters()).toHaveLength(1)
    expect(finalsOf(world)).toEqual([
      [1n, 'DUPLICATE,SENT'],
      [2n, 'DUPLICATE,SENT'],
      ...sentOnce(50).slice(2),
      [60n, 'INVALID'],
      [61n, 'SENT'],
    ])
  })

  test('to a later offset, the commands below it are skipped and reported; a second reset, back, sends them once', async () => {
    const lines: { event: string }[] = []
    const logger = pino({ base: null }, { write: line => void lines.push(JSON.parse(line)) })
    const world = await startWorld({ logger, settings: quickDoubts })
    const [topic] = world.settings.topics.commands.slice(-1)
    const warnings = () => lines.filter(({ event }) => event === 'session.foreignOffset')
    await world.send(commandsFrom(1, 10))
    await world.finished(10)
    await world.worker.close()
    await world.send(commandsFrom(11, 5))
    await world.resetOffset(13)

    const worker = await world.startWorker()
    await world.finished(12)
    expect(warnings()).toMatchObject([{ topic, partition: 0, offset: 13 }])
    await worker.close()
    await world.resetOffset(0)
    await world.startWorker()
    await world.finished(15)
    await world.quiet()
    expect(warnings()).toMatchObject([{ offset: 13 }, { offset: 0 }])
    expect(world.sandbox.stats()).toMatchObject({ executed: 15, billedTwice: 0 })
    expect(finalsOf(world)).toEqual(sentOnce(15))
  })

  test('a worker that stops during the look-up leaves the rest to the next one', async () => {
    const world = await startWorld({ settings: quickDoubts })
    await world.send(commandsFrom(1, 50))
    await world.finished(50)
    await world.worker.close()
    await world.resetOffset(0)

    const commands = `fetch ${world.settings.topics.commands.at(-1)}/0`
    const never = new Promise<void>(() => {})
    let fetches = 0
    const interrupted = await world.startWorker(telemetry =>
      world.openMemoryBus(telemetry, {
        fetchRecords: 10,
        hop: async (step, way) => (step === commands && way === 'there' && ++fetches > 1 ? never : undefined),
      }),
    )
    await until(() => expect(world.committedOffset()).toBe(10))
    await interrupted.close()

    await world.startWorker()
    await world.send(commandsFrom(51, 1))
    await world.finished(51)
    await world.quiet()
    expect(finalsOf(world)).toEqual(sentOnce(51))
    expect(world.sandbox.stats()).toMatchObject({ executed: 51, billedTwice: 0 })
  })

  test('commands that were in doubt and have a final result are neither polled nor published again', async () => {
    const settings = { gateway: { timeoutMs: 200 }, doubts: { waitMs: 60_000 } }
    const world = await startWorld({ settings, sandbox: { callbackDelayMs: 300 } })
    world.sandbox.faults.next('reset-after', 1)
    await world.send(commandsFrom(1, 5))
    await world.finished(5)
    expect(world.results().filter(({ final }) => !final)).not.toEqual([])
    await world.worker.close()
    const before = world.results().length
    await world.resetOffset(0)
    await world.resetOffset(0, world.settings.topics.doubts)

    const worker = await world.startWorker()
    await until(() => expect(worker.ready()).toMatchObject({ ready: true, reasons: [] }))
    await world.send(commandsFrom(6, 1))
    await world.finished(6)
    await world.quiet()
    expect(world.results()).toHaveLength(before + 1)
    expect(world.sandbox.stats()).toMatchObject({ executed: 6, billedTwice: 0 })
  })
})
