import { describe, expect, test } from 'vitest'
import type { Bus, BusRecord } from '../../src/bus/port.ts'
import { createDecoders, readResults, waitForResult } from '../../src/consumer/index.ts'
import { parseJson, type SendType } from '../../src/protocol/index.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { until } from '../support/bus.ts'
import { buildCommandOf } from '../support/commands.ts'
import { startFront } from '../support/front.ts'
import { startWorld } from '../support/worker.ts'

/** A world after commands that the gateway answered with these items. */
async function worldAnswered(items: readonly string[], types: readonly SendType[] = [], delivery: object = {}) {
  const gateway = await startFront()
  gateway.answer = ({ body }) => {
    const { data } = parseJson(body) as { data: { id: number }[] }
    return { body: `{"success":true,"data":[${data.map(({ id }) => items[id - 1]).join()}]}` }
  }
  const world = await startWorld({ settings: { gateway: { url: gateway.url }, delivery } })
  await world.send(items.map((_, i) => buildCommandOf(types[i] ?? 'sms', { id: BigInt(i + 1) })))
  await world.finished(items.length)
  expect(world.worker.ready().ready).toBe(true)
  return world
}

async function firstRecord(bus: Bus, topic: string): Promise<BusRecord> {
  const found: BusRecord[] = []
  const reader = await bus.read([topic], 'earliest', async (_, records) => {
    found.push(...records)
  })
  await until(() => expect(found).not.toEqual([]))
  await reader.close()
  return found[0]!
}

describe('an item with success true', () => {
  const item = (data: string) => `{"success":true,"data":${data}}`
  const deep = `${'['.repeat(500)}${']'.repeat(500)}`
  const long = 'x'.repeat(20_000)
  const strange: [type: SendType, answer: string, result: Partial<SendResult>][] = [
    ['sms', '{"success":true}', { msgId: null, payload: null }],
    ['sms', item('null'), { msgId: null, payload: null }],
    ['sms', item('[]'), { msgId: null, payload: '[]' }],
    ['sms', item('7'), { msgId: null, payload: '7' }],
    ['sms', item('{"msg_id":{"a":1},"parts":"2"}'), { msgId: null, parts: 2 }],
    ['sms', item('{"msg_id":18446744073709551616,"parts":1e400}'), { msgId: '18446744073709551616', parts: null }],
    ['sms', item('{"msg_id":"m-1","parts":1.5,"data":-0}'), { msgId: 'm-1', parts: null }],
    ['sms', item('{"msg_id":"","parts":99999999999}'), { parts: null }],
    ['sms', item('{"msg_id":"\\ud83d","__proto__":{"x":1}}'), {}],
    ['sms', item(`{"msg_id":"m-1","more":"${long}"}`), { msgId: 'm-1', payload: `{"more":"${long}"}` }],
    ['sms', item(`{"msg_id":"m-1","more":${deep}}`), { msgId: 'm-1' }],
    ['call/otp', item('{"code":42,"price":"1.25"}'), { code: '0042', price: 1.25 }],
    ['call/otp', item('{"code":null,"price":null}'), { code: null, price: null }],
    ['call/otp', item('{"code":["0042"],"price":{}}'), { code: null, price: null }],
    ['hlr', item('{"phone":"none"}'), { hlr: null, payload: '{"phone":"none"}' }],
    ['hlr', item('{"phone":380501234567,"imsi":255019999999999999999,"mccmnc":"25501","network":7,"ported":"no"}'), {}],
    ['hlr', item('{"phone":380501234567,"network":{"origin":[],"ported":{"country":"Ukraine","prefix":1e300}}}'), {}],
  ]

  test('is SENT, whatever else it holds', async () => {
    const [types, items] = [strange.map(([type]) => type), strange.map(([, answer]) => answer)]
    const world = await worldAnswered(items, types)
    for (const [i, [, answer, expected]] of strange.entries()) {
      expect(world.resultOf(i + 1), answer).toMatchObject({ outcome: 'SENT', final: true, ...expected })
    }
  })
})

describe('the one-time password of a call/otp', () => {
  const item = '{"success":true,"data":{"code":"0042","price":1.25,"spoken":"zero zero four two"}}'
  const unreadable = '{"success":true,"data":{"code":["0042"],"price":1.25}}'

  test.each([
    ['result', '0042', undefined, '0042'],
    ['header', null, '0042', '0042'],
    ['none', null, undefined, null],
  ])('goes where delivery.codes says: %s', async (codes, inValue, inHeader, found) => {
    const { settings, bus, registry } = await worldAnswered([item], ['call/otp'], { codes })
    const { decodeResult } = createDecoders(settings, { registry })
    const { value, headers } = await firstRecord(bus, settings.topics.results)
    expect(await decodeResult(value)).toMatchObject({ outcome: 'SENT', code: inValue, price: 1.25 })
    expect(headers['busgate.code']?.toString()).toBe(inHeader)
    expect(await decodeResult(value, headers)).toMatchObject({ code: found })
    expect(await waitForResult(settings, 1, { bus, registry })).toMatchObject({ code: found })
    for await (const { value } of readResults(settings, { from: 'earliest', untilEnd: true, bus, registry })) {
      expect(value).toMatchObject({ code: found })
    }
  })

  test.each(['header', 'none'])('is in no part of the value with delivery.codes=%s', async codes => {
    for (const answer of [item, unreadable]) {
      const { settings, bus } = await worldAnswered([answer], ['call/otp'], { codes })
      const { value } = await firstRecord(bus, settings.topics.results)
      expect(value!.toString('latin1')).not.toMatch(/0042|zero/)
    }
  })
})

test('an item that says it was refused is REJECTED, whatever its reason is', async () => {
  const reasons: [item: string, error: RegExp][] = [
    ['{"success":false}', /^.+$/],
    ['{"success":false,"error":{"code":7}}', /^.+$/],
    ['{"success":false,"error":"\\ud83d"}', /^.+$/], // half a character
    [`{"success":false,"error":"${'no '.repeat(5000)}"}`, /^(no ){300}/],
  ]
  const world = await worldAnswered(reasons.map(([item]) => item))
  for (const [i, [item, error]] of reasons.entries()) {
    expect(world.resultOf(i + 1), item).toMatchObject({ outcome: 'REJECTED', errorCode: 'REJECTED' })
    expect(world.resultOf(i + 1).error).toMatch(error)
    expect(world.resultOf(i + 1).error!.length).toBeLessThanOrEqual(1024)
  }
})
