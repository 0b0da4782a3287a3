import { describe, expect, test } from 'vitest'
import type { Bus, BusRecord } from '../../src/bus/port.ts'
import { createDecoders, readResults, waitForResult } from '../../src/consumer/index.ts'
import { until } from '../support/bus.ts'
import { buildCommandOf } from '../support/commands.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { startWorld } from '../support/worker.ts'

/** Sends a call/otp that the gateway answers with this item. */
async function worldAnswered(item: string, codes: string) {
  const gateway = await startProxy()
  gateway.answer = () => ({ body: `{"success":true,"data":[${item}]}` })
  const world = await startWorld({ settings: { gateway: { url: gateway.url }, results: { otpCode: codes } } })
  await world.send([buildCommandOf('call/otp', { id: 1n })])
  await world.finished(1)
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

describe('the one-time password of a call/otp', () => {
  const item = '{"success":true,"data":{"code":"0042","price":1.25,"spoken":"zero zero four two"}}'
  const unreadable = '{"success":true,"data":{"code":["0042"],"price":1.25}}'

  test.each([
    ['result', '0042', undefined, '0042'],
    ['header', null, '0042', '0042'],
    ['none', null, undefined, null],
  ])('is published as results.otpCode says: %s', async (codes, inValue, inHeader, found) => {
    const { settings, bus, registry } = await worldAnswered(item, codes)
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

  test.each(['header', 'none'])("is nowhere in the result's value with results.otpCode=%s", async codes => {
    for (const answer of [item, unreadable]) {
      const { settings, bus } = await worldAnswered(answer, codes)
      const { value } = await firstRecord(bus, settings.topics.results)
      expect(value!.toString('latin1')).not.toMatch(/0042|zero/)
    }
  })
})
