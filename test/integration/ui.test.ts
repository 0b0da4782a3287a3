import { expect, test } from 'vitest'
import { parseJson } from '../../src/protocol/index.ts'
import { until } from '../support/bus.ts'
import { busgate, startBusgate } from '../support/cli.ts'
import { buildCommand } from '../support/commands.ts'
import { environmentOf } from '../support/environment.ts'
import { describeOnKafka } from '../support/integration.ts'
import { ask, waitForState } from '../support/ui.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('the page on a real Kafka', brokers => {
  test('shows the same story of a message as busgate message, and ends with its process', async () => {
    const world = await startWorld({ brokers, partitions: 2 })
    const env = environmentOf(world)
    await world.send([
      buildCommand({ id: 1n, correlationId: 'order-1' }),
      buildCommand({ id: 2n, correlationId: 'order-2' }),
    ])
    await world.finished(2)
    await until(() => expect(world.statuses()).toHaveLength(2))
    const page = startBusgate(['ui', '--port', '0'], { env })
    const url = await page.line('http://127.0.0.1:')
    for (const [args, asked] of [
      [['1'], 'by=id&text=1'],
      [['--correlation-id', 'order-2'], 'by=correlation&text=order-2'],
    ] as const) {
      const told = await busgate(['message', ...args, '--json'], { env })
      const { body } = await ask(`${url}api/messages?${asked}`)
      const [story] = (parseJson(body) as { stories: { lines: object[] }[] }).stories
      expect(story!.lines).toEqual(told.stdout.trim().split('\n').map(parseJson))
    }
    page.signal('SIGINT')
    expect(await page.ended).toMatchObject({ code: 0, stdout: `${url}\n` })
  })
})

test('the page reports unavailable brokers, and so does the answer to a search', async () => {
  const env = { BUSGATE_KAFKA_BROKERS: '127.0.0.1:1', BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' }
  const page = startBusgate(['ui', '--port', '0'], { env })
  const url = await page.line('http://127.0.0.1:')
  const { trouble } = await waitForState(url, now => now.trouble !== null)
  expect(trouble).toContain('ECONNREFUSED')
  const { status, body } = await ask(`${url}api/messages?by=id&text=1`)
  expect(status).toBe(500)
  expect(body).toContain('no broker answers')
})
