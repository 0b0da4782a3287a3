import { describe, expect, test } from 'vitest'
import { parseJson, sendTypes } from '../../src/protocol/index.ts'
import { until } from '../support/bus.ts'
import { buildCommandOf } from '../support/commands.ts'
import { contract, metricsIn, ownSeries, scrape } from '../support/metrics.ts'
import { type ReverseProxy, startProxy } from '../support/reverse-proxy.ts'
import { startWorld, type World } from '../support/worker.ts'

const scrapeOf = (world: World) => scrape(world.worker.ports.telemetry)

/** A unique text for each number. */
const uniqueText = (n: number) =>
  [`made-up-${n}`, '__proto__', `quote" \\ ${n}\n}`, 'constructor', `${'x'.repeat(500)}${n}`, '', `380${n}`][n % 7]!

interface Operation {
  type: string
  id?: number
  hook?: string
}

/** Starts a gateway that refuses one operation in five, each with a unique text, and sometimes answers nonsense. */
async function startErraticGateway(): Promise<{ proxy: ReverseProxy; hooks: Map<number, string> }> {
  const proxy = await startProxy()
  const hooks = new Map<number, string>()
  let count = 0

  function itemFor({ type, id, hook }: Operation): object {
    count++
    if (type === 'balance') return { success: true, data: { amount: count, currency: count % 3 ? `C${count}` : 'UAH' } }
    if (type === 'status') return { success: true, data: { id, status: count % 2 ? 'DELIVERED' : uniqueText(count) } }
    if (count % 5 === 0) return { success: false, error: uniqueText(count) }
    if (hook && id! % 5 === 0) hooks.set(id!, hook)
    return { success: true, data: type === 'call/otp' ? { code: '1234', price: 1 } : { id, msg_id: count, parts: 1 } }
  }

  proxy.answer = ({ body }) => {
    const { data } = parseJson(body) as { data: Operation[] }
    if (proxy.requests.length % 40 === 10) return { status: 502, body: uniqueText(++count) }
    if (proxy.requests.length % 40 === 20)
      return { body: JSON.stringify({ success: false, error: uniqueText(++count) }) }
    return { body: JSON.stringify({ success: true, data: data.map(itemFor) }) }
  }
  return { proxy, hooks }
}

/** Sends valid and invalid messages with these numbers, and their callbacks. */
async function flood(world: World, hooks: Map<number, string>, from: number, to: number): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, i) => from + i)
  await world.send(
    numbers.map(n => {
      const type = sendTypes[n % sendTypes.length]!
      const invalid = n % 13 === 0
      return buildCommandOf(type, {
        id: BigInt(n),
        phone: invalid ? n : 380_500_000_000 + n,
        account: n % 17 === 0 ? `${uniqueText(n)}!` : 'default',
        deadline: n % 19 === 0 ? n : null,
        correlationId: uniqueText(n),
        tenant: uniqueText(n + 1),
      })
    }),
  )
  for (const n of numbers.filter(n => n % 10 === 0)) {
    const unknownSchema = Buffer.from([0, 1, n >> 16, n >> 8, n])
    await world.produceRaw(n % 20 ? Buffer.from(uniqueText(n)) : unknownSchema)
  }
  await world.finished(to)
  await Promise.all(Array.from(hooks, ([id, url]) => callBack(url, id)))
  hooks.clear()
}

async function callBack(url: string, id: number): Promise<void> {
  const body = { success: id % 2 === 0, id, msg_id: uniqueText(id), type: uniqueText(id), status: uniqueText(id + 1) }
  const good = id % 3 > 0
  const token = id % 11 === 0 ? `/${uniqueText(id).slice(0, 20)}` : ''
  await fetch(url + encodeURI(token), {
    method: id % 23 === 0 ? 'PUT' : 'POST',
    headers: { 'content-type': id % 7 ? 'application/json' : `text/${id}` },
    body: JSON.stringify(good ? { ...body, type: sendTypes[id % sendTypes.length], status: 'DELIVERED' } : body),
  })
}

describe('a running worker', () => {
  test('has the same number of series after 2,000 different messages and callbacks', async () => {
    const { proxy, hooks } = await startErraticGateway()
    const world = await startWorld({
      settings: {
        gateway: { url: proxy.url, timeoutMs: 500, balanceIntervalMs: 20 },
        doubts: { waitMs: 30 },
      },
    })
    await flood(world, hooks, 0, 100)
    await until(async () => expect(metricsIn(await scrapeOf(world))).toEqual(contract))
    const before = ownSeries(await scrapeOf(world))
    await flood(world, hooks, 100, 2_000)
    const after = await scrapeOf(world)
    const added = ownSeries(after).filter(series => !before.includes(series))
    const mayAppear = /_account_balance\{|_verdicts_total\{type="[^"]+",country="(UA|other)"/
    expect(
      added.filter(series => !mayAppear.test(series)),
      'messages create these series: limit their labels by a list, or allow bounded ones in mayAppear',
    ).toEqual([])
    expect(ownSeries(after).filter(series => series.startsWith('busgate_account_balance{'))).toHaveLength(1)

    const unforeseen = before.filter(series => series.includes('="other"'))
    expect(
      unforeseen.filter(
        series =>
          !/_balance|_callbacks_total|_contradictions_total|_latency|_country_refusals|_verdicts_total|_tenant_/.test(
            series,
          ),
      ),
    ).toEqual([])

    const total = (name: string) =>
      ownSeries(after)
        .filter(series => series.startsWith(`busgate_${name}{`))
        .reduce((sum, series) => sum + after.get(series)!, 0)
    expect(total('commands_consumed_total')).toBeGreaterThan(2_000)
    expect(total('results_published_total')).toBeGreaterThanOrEqual(2_000)
    for (const name of ['callbacks_total', 'callback_rejections_total', 'dead_letters_total', 'doubts_total']) {
      expect(total(name), name).toBeGreaterThan(3)
    }
    for (const state of ['DELIVERED', 'FAILED']) {
      const series = `busgate_callbacks_total{type="other",state="${state}",verified="true"}`
      expect(after.get(series), series).toBeGreaterThan(5)
    }
  })
})
