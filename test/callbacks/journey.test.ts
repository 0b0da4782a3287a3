import { expect, test } from 'vitest'
import { eventually } from '../support/callbacks.ts'
import { buildCommandOf } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

/** A phone whose last digits the sandbox reads. */
const phone = (ending: string) => Number(`3806712300${ending}`)

test('a correlation that would make an address too long is left out and counted; the message is sent and called back', async () => {
  const world = await startWorld()
  const marks = { correlationId: 'c'.repeat(150), tenant: 'acme', campaign: 'spring' }
  await world.send([
    buildCommandOf('sms', { id: 6n, phone: phone('00'), ...marks }),
    buildCommandOf('sms', { id: 7n, phone: phone('00'), correlationId: 'order-7' }),
  ])
  await eventually(() => expect(world.statuses()).toHaveLength(2))
  const metrics = await (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text()
  expect(metrics).toMatch(/^busgate_hooks_without_correlation_total 1$/m)
  for (const { path } of world.receiver.passed) {
    expect(world.receiver.url.length + path.length).toBeLessThanOrEqual(world.settings.callbacks.urlMaxLength)
  }
  await world.quiet()
  const byId = (id: bigint) => world.statuses().find(event => event.id === id)
  const unmarked = { correlationId: null, tenant: null, campaign: null }
  expect(byId(6n)).toMatchObject({ ...unmarked, commandType: 'sms', country: 'UA', state: 'DELIVERED' })
  expect(byId(7n)).toMatchObject({ correlationId: 'order-7' })
  expect(world.resultOf(6)).toMatchObject({ outcome: 'SENT', ...marks })
})
