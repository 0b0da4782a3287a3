import { request } from 'undici'
import { expect, test } from 'vitest'
import { stringifyJson } from '../../src/protocol/index.ts'
import { faults } from '../../src/sandbox/faults.ts'
import type { FaultName, Sandbox } from '../../src/sandbox/index.ts'
import { ManualClock } from '../support/clock.ts'
import { operation, post, postText, sandboxFor } from './support.ts'

const names = Object.keys(faults) as FaultName[]

test.for(names.filter(name => name !== 'stall'))(
  'the fault %s executes its operations once if its description says so',
  async name => {
    const sandbox = await sandboxFor()
    sandbox.faults.next(name)
    const sent = [operation('sms'), operation('sms')]
    await attempt(sandbox, sent).catch(() => undefined)
    expect(sandbox.stats()).toMatchObject({ requests: 1, executed: faults[name].executes ? 2 : 0, billedTwice: 0 })
    expect(sandbox.log()).toMatchObject([{ fault: name }])
    expect(await post(sandbox, [operation('sms')])).toMatchObject({ success: true, data: [{ success: true }] })
  },
)

test('the fault slow-body answers in ten pieces, 100 ms apart', async () => {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock })
  sandbox.faults.next('slow-body')
  const response = await attempt(sandbox, [operation('sms')])
  const chunks: Buffer[] = []
  for await (const chunk of response.body) {
    chunks.push(chunk)
    await clock.pass(100)
  }
  expect(chunks).toHaveLength(10)
  expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ success: true })
})

test.for([
  ['items-reordered', [3, 2, 1]],
  ['items-without-id', [undefined, undefined, undefined]],
] as const)('the fault %s changes the items of the answer', async ([name, ids]) => {
  const sandbox = await sandboxFor()
  sandbox.faults.next(name)
  const { data } = await post(
    sandbox,
    [1, 2, 3].map(id => operation('sms', { id })),
  )
  expect(data.map(item => item.data.id)).toEqual(ids)
})

test('faults occur in the requested order and number, or until they are cleared', async () => {
  const sandbox = await sandboxFor()
  sandbox.faults.next('access-denied', 2)
  sandbox.faults.next('http-502', Number.POSITIVE_INFINITY)
  const statuses = []
  for (let i = 0; i < 20; i++) statuses.push((await postText(sandbox, envelope([operation('sms')]))).status)
  expect(statuses).toEqual([200, 200, ...Array(18).fill(502)])
  sandbox.faults.clear()
  expect(await post(sandbox, [operation('sms')])).toMatchObject({ success: true })
})

test('faults can be requested and cleared over HTTP', async () => {
  const sandbox = await sandboxFor()
  expect(await control(sandbox, 'POST', { fault: 'access-denied', count: 2 })).toEqual({
    fault: 'access-denied',
    count: 2,
  })
  expect(await post(sandbox, [operation('sms')])).toMatchObject({ success: false })
  expect(await control(sandbox, 'DELETE')).toEqual({ cleared: true })
  expect(await post(sandbox, [operation('sms')])).toMatchObject({ success: true })
})

test.for([
  [{ fault: 'flood' }, /one of reset-before, /],
  [{ fault: 'stall', count: 0 }, /from 1/],
  [{}, /one of/],
] as const)('a wrong request for a fault is refused over HTTP with what is expected', async ([body, error]) => {
  const sandbox = await sandboxFor()
  expect(await control(sandbox, 'POST', body)).toEqual({ error: expect.stringMatching(error) })
  expect(await post(sandbox, [operation('sms')])).toMatchObject({ success: true })
})

function envelope(data: unknown[]): string {
  return stringifyJson({ auth: 'sandbox-key', data })
}

function attempt(sandbox: Sandbox, data: unknown[]) {
  return request(`${sandbox.url}/api/json.php`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: envelope(data),
  })
}

async function control(sandbox: Sandbox, method: 'POST' | 'DELETE', body?: object): Promise<unknown> {
  const response = await request(`${sandbox.url}/_faults`, { method, body: body ? JSON.stringify(body) : null })
  return response.body.json()
}
