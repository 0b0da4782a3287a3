import { describe, expect, test } from 'vitest'
import { tokensOf } from '../../src/callbacks/role.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { eventually, hookSubject } from '../support/callbacks.ts'
import { buildCommandOf } from '../support/commands.ts'
import { startWorld, type World } from '../support/worker.ts'

/** A phone whose last digits the sandbox reads. */
const phone = (ending: string) => Number(`3806712300${ending}`)

async function statusesOf(world: World, count: number): Promise<StatusEvent[]> {
  await eventually(() => expect(world.statuses()).toHaveLength(count))
  await world.quiet()
  expect(world.statuses()).toHaveLength(count)
  return world.statuses()
}

describe('what the gateway tells in a callback reaches the event', () => {
  test('the replies to a two-way Viber message', async () => {
    const world = await startWorld()
    await world.send([buildCommandOf('viber', { id: 1n, phone: phone('88') })])
    const [event] = await statusesOf(world, 1)
    expect(event).toMatchObject({ type: 'viber', status: 'REPLIED', state: 'DELIVERED', final: true, verified: true })
    expect(event!.replies).toEqual([
      { datetime: expect.stringMatching(/^\d{4}-.*Z$/), message: 'Yes', media: null },
      {
        datetime: expect.stringMatching(/^\d{4}-.*Z$/),
        message: null,
        media: {
          url: expect.stringContaining('https://'),
          filename: expect.stringContaining('.jpg'),
          filesize: 20_480,
        },
      },
    ])
  })

  test('the digit that was pressed in a call, and how long it lasted', async () => {
    const world = await startWorld()
    await world.send([buildCommandOf('voice', { id: 2n, phone: phone('00') }, { dtmf: true })])
    const [event] = await statusesOf(world, 1)
    expect(event).toMatchObject({ type: 'voice', verified: true })
    expect(event!.reply).toMatch(/^\d$/)
    expect(event!.duration).toBeGreaterThan(0)
  })

  test('the request on the asynchronous interface, and a refusal there', async () => {
    const world = await startWorld()
    const tokens = tokensOf(world.settings)!
    const sms = (id: number, ending: string) => ({
      type: 'sms',
      id,
      phone: phone(ending),
      sms_message: 'Hi',
      sms_signature: 'Shop',
      hook: `${world.receiver.url}/hooks/${tokens.issue(hookSubject({ id: BigInt(id) }))}`,
    })
    const answer = await fetch(world.sandbox.asyncUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: 'sandbox-key', data: [sms(3, '00'), sms(4, '90')] }),
    })
    const { request_id } = (await answer.json()) as { request_id: string }
    const events = await statusesOf(world, 2)
    expect(events.toSorted((a, b) => Number(a.id - b.id))).toMatchObject([
      { id: 3n, requestId: request_id, state: 'DELIVERED', verified: true },
      { id: 4n, requestId: request_id, status: 'REJECTED', state: 'FAILED', msgId: null, verified: true },
    ])
  })
})

test('a callback that comes twice yields two events that differ in nothing but receivedAt, named alike', async () => {
  const world = await startWorld()
  const command = buildCommandOf('sms', { id: 5n, phone: phone('97'), correlationId: 'order-7', tenant: 'acme' })
  await world.send([command])
  const [first, second] = await statusesOf(world, 2)
  expect(first).toMatchObject({ id: 5n, correlationId: 'order-7', tenant: 'acme', eventId: expect.any(String) })
  expect(first!.updatedAt).not.toBeNull()
  expect({ ...second, receivedAt: 0 }).toEqual({ ...first, receivedAt: 0 })
})

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

test('a pipeline is called back at the address of its account, and only the body vouches for that', async () => {
  const world = await startWorld()
  await world.send([buildCommandOf('pipeline', { id: 8n, phone: phone('00'), correlationId: 'order-7' })])
  const [event] = await statusesOf(world, 1)
  expect(event).toMatchObject({ id: 8n, account: 'default', verified: false, correlationId: null })
  expect(world.receiver.passed[0]!.path).toMatch(/^\/hooks\/account\/default\/[\w-]+$/)
})
