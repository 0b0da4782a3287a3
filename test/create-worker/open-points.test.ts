import { describe, expect, test } from 'vitest'
import { operations, type SendType } from '../../src/protocol/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { type OpenPointName, openPoints, type Readings } from '../../src/sandbox/index.ts'
import { until } from '../support/bus.ts'
import { buildCommandOf, silentPhone } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

/** Every reading but the defaults, and those once. */
const choices = Object.entries(openPoints).flatMap(([point, { readings }], i) =>
  Object.keys(readings)
    .slice(i === 0 ? 0 : 1)
    .map(reading => ({ point: point as OpenPointName, reading })),
)

/** Shorter waits, in the same order. */
const settings = {
  gateway: { timeoutMs: 600, maxOperations: 20 },
  doubts: { waitMs: 50, polls: 2 },
}

const types: readonly SendType[] = ['sms', 'viber', 'viber+sms', 'rcs', 'voice', 'pipeline', 'call/otp', 'hlr']
const longId = 9_007_199_254_740_993n

/** A command of each type with a status under both policies, and one with a long id; no callback comes for any. */
function commandsOf(first: bigint, kinds: readonly SendType[] = types): SendCommand[] {
  const both = kinds.flatMap(type => (['AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const).map(delivery => ({ type, delivery })))
  const polled = both.filter(({ type, delivery }) => operations[type].hasStatus || delivery === 'AT_MOST_ONCE')
  return polled.map(({ type, delivery }, i) =>
    buildCommandOf(type, { id: first + BigInt(i), delivery, phone: silentPhone }),
  )
}

/** Readings that are a fault of the commands themselves. */
const faulty: Readonly<Record<string, string>> = { operations: 'ten' }

describe('whatever the specification leaves open, nothing is sent twice and nothing stands still', () => {
  test.each(choices)('with $point=$reading', async ({ point, reading }) => {
    const open: Partial<Readings> = { [point]: reading }
    const world = await startWorld({ settings, sandbox: { open } })
    const paused: string[] = []
    world.worker.telemetry.on('account.paused', ({ reason }) => paused.push(reason))

    // the answers of the first envelope are lost, and the second one is
    const lost = commandsOf(1n, ['sms', 'viber', 'viber+sms', 'rcs', 'voice', 'pipeline'])
    const neverSent = commandsOf(101n, ['sms', 'viber'])
    world.sandbox.faults.next('reset-after')
    await world.send(lost)
    await until(() => expect(new Set(world.results().map(({ id }) => id)).size).toBe(lost.length))
    world.sandbox.faults.next('reset-before')
    await world.send([...neverSent, buildCommandOf('sms', { id: longId, phone: silentPhone })])
    const seen = () => neverSent.filter(({ id }) => world.results().some(result => result.id === id))
    await until(() => expect(seen()).toHaveLength(neverSent.length))

    // one-time passwords go on meanwhile, each in an envelope of its own
    let passwords = 0
    const finals = () => world.results().filter(({ final, id }) => final && (id < 1000n || id === longId))
    await until(async () => {
      await world.send([buildCommandOf('call/otp', { id: 1000n + BigInt(++passwords), phone: silentPhone })])
      expect(finals()).toHaveLength(lost.length + neverSent.length + 1)
    })
    await world.finished(lost.length + neverSent.length + 1 + passwords)
    await world.send([buildCommandOf('sms', { id: 500n })])
    await until(() => expect(world.statuses()).toMatchObject([{ id: 500n, state: 'DELIVERED', verified: true }]))
    expect(world.statuses()[0]!.updatedAt).toBeGreaterThan(0)
    expect(world.worker.ready()).toMatchObject({ ready: true, reasons: [] })
    await world.quiet()

    expect(world.sandbox.stats().billedTwice).toBe(0)
    expect(new Set(finals().map(({ id }) => id)).size).toBe(finals().length)
    for (const { id, outcome } of finals()) {
      if (outcome !== 'SENT' || `${point}=${reading}` === 'unknownId=text') continue
      expect([id, world.sandbox.executions(id)]).toEqual([id, 1])
    }
    // a busy machine may lose the answer to one, which is never sent again, or seem unreachable
    const ofPasswords = world.results().filter(({ id }) => id >= 1000n && id !== longId)
    expect(ofPasswords.some(({ outcome }) => outcome === 'SENT')).toBe(true)
    expect(ofPasswords.filter(({ outcome }) => !['SENT', 'IN_DOUBT', 'UNRESOLVED'].includes(outcome))).toEqual([])
    if (faulty[point] !== reading) expect(new Set(paused)).toBeOneOf([new Set(), new Set(['unreachable'])])
  })

  test.each<[status: Partial<Readings>]>([
    [{ statusTexts: 'other' }],
    [{ status: 'text' }],
    [{ status: 'list' }],
    [{ status: 'state' }],
    [{ status: 'object' }],
    [{ status: 'beside' }],
    [{ status: 'foreign-id' }],
    [{ status: 'list', statusTexts: 'other' }],
    [{ ids: 'rounded' }],
  ])('a lost answer is SENT after one execution with %j', async open => {
    const world = await startWorld({ settings, sandbox: { open } })
    world.sandbox.faults.next('reset-after')
    await world.send([buildCommandOf('sms', { id: longId, phone: silentPhone, delivery: 'AT_LEAST_ONCE' })])
    await world.finished(1)
    await world.quiet()
    expect(world.results().map(({ outcome }) => outcome)).toEqual(['IN_DOUBT', 'SENT'])
    expect(world.sandbox.executions(longId)).toBe(1)
  })

  test('long ids that a gateway rounds, in answers and callbacks, are SENT and DELIVERED without a doubt', async () => {
    const world = await startWorld({ settings, sandbox: { open: { ids: 'rounded', callbackIds: 'rounded' } } })
    const ids = Array.from({ length: 50 }, (_, i) => 1_795_961_734_155_000_000n + BigInt(i))
    await world.send(ids.map(id => buildCommandOf('sms', { id })))
    await until(() => expect(world.statuses()).toHaveLength(ids.length))
    await until(() => expect(world.results().map(({ outcome }) => outcome)).toEqual(ids.map(() => 'SENT')))
    expect(new Set(world.statuses().map(({ id }) => id))).toEqual(new Set(ids))
  })
})
