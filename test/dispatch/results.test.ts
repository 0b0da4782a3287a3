import { expect, test } from 'vitest'
import { ResultCounts } from '../../src/dispatch/outbox.ts'
import { noPayload } from '../../src/records/result.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'

test('telemetry hears once a group of equal results, and once a cause of doubts', () => {
  const telemetry = new Telemetry()
  const heard: Events[keyof Events][] = []
  for (const name of ['results.published', 'doubt.opened'] as const) {
    telemetry.on(name, (event: Events[typeof name]) => heard.push(event))
  }
  const counts = new ResultCounts()
  expect(counts.isEmpty).toBe(true)
  const sms = { type: 'sms', account: 'default', tenant: 'shop' }
  const payload = { ...noPayload, parts: 2, price: 0.5 }
  for (let i = 0; i < 2; i++) counts.add(sms, { outcome: 'SENT', attempts: 1, payload })
  counts.add({ ...sms, tenant: null }, { outcome: 'SENT', attempts: 1, payload: { ...noPayload, parts: -1 } })
  counts.add(sms, { outcome: 'REJECTED', attempts: 1, errorCode: 'VALIDATION' })
  counts.add({ ...sms, type: 'viber' }, { outcome: 'SENT', attempts: 1 })
  for (let i = 0; i < 2; i++) counts.addDoubt('reset')
  expect([counts.isEmpty, heard]).toEqual([false, []])
  counts.announce(telemetry)
  expect(heard).toEqual([
    { cause: 'reset', count: 2 },
    {
      ...{ type: 'sms', account: 'default', outcome: 'SENT', errorCode: null, count: 3, parts: 4, price: 1 },
      shares: new Map([
        ['shop', { count: 2, parts: 4 }],
        [null, { count: 1, parts: 0 }],
      ]),
    },
    {
      ...{ type: 'sms', account: null, outcome: 'REJECTED', errorCode: 'VALIDATION', count: 1, parts: 0, price: 0 },
      shares: new Map([['shop', { count: 1, parts: 0 }]]),
    },
    {
      ...{ type: 'viber', account: 'default', outcome: 'SENT', errorCode: null, count: 1, parts: 0, price: 0 },
      shares: new Map([['shop', { count: 1, parts: 0 }]]),
    },
  ])
})
