import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../src/config/index.ts'
import { type Change, changesIn, keyOf, readChange, writeChange } from '../../src/control/change.ts'
import { Controls } from '../../src/control/controls.ts'
import { ControlRoom, LastChanges, mostInForce } from '../../src/control/last-changes.ts'
import { ManualClock } from '../support/clock.ts'
import { buildPause, buildWithdrawal } from '../support/control.ts'
import { collectGarbage } from '../support/garbage.ts'

test('a pause ends in the second that it names, and a later one within it', async () => {
  const clock = new ManualClock()
  const controls = new Controls(loadSettings({ env: {} }), clock)
  const second = Math.ceil(clock.now() / 1000) * 1000 + 5_000
  for (const [name, until] of [
    ['exact', second],
    ['later', second + 1],
  ] as const)
    controls.apply(buildPause({ name, until }))
  const inForce = () => {
    controls.update()
    return controls.inForce.map(({ name }) => name)
  }
  await clock.pass(second - 1 - clock.now())
  expect(inForce()).toEqual(['exact', 'later'])
  await clock.pass(1)
  expect(inForce()).toEqual(['later'])
  await clock.pass(1000)
  expect(inForce()).toEqual([])
})

describe('a text of the control topic', () => {
  const longest = 'x'.repeat(500)

  test('that is too long is refused when it is written', () => {
    expect(() => writeChange('control', buildPause({ reason: `${longest}x` }))).toThrow('at most 500 characters each')
    expect(() => writeChange('control', buildPause({ by: `${longest}x` }))).toThrow('at most 500 characters each')
    expect(() => writeChange('control', buildPause({ kind: 'tenant', name: 'é'.repeat(513) }))).toThrow(
      'a name of 1026 bytes cannot be paused: 1024 at most',
    )
    expect(() => writeChange('control', buildPause({ by: longest, reason: longest }))).not.toThrow()
  })

  test('that is too long nevertheless is cut, and its change counts', () => {
    const { key, value } = writeChange('control', buildWithdrawal({ reason: 'REASON' }))
    const long = Buffer.from(value!.toString().replace('REASON', 'r'.repeat(1_000_000)))
    const change = readChange({ offset: 0, timestamp: 0, headers: {}, key: Buffer.from(key!), value: long })
    expect(change).toMatchObject({ begins: true, name: 'spring', reason: `${'r'.repeat(499)}…` })
  })

  test('of a megabyte leaves no megabyte in memory', () => {
    const { key, value } = writeChange('control', buildWithdrawal({ reason: 'REASON' }))
    const long = Buffer.from(value!.toString().replace('REASON', 'r'.repeat(1_000_000)))
    const record = { offset: 0, timestamp: 0, headers: {}, key: Buffer.from(key!), value: long }
    const kept: Change[] = []
    const before = heapOfOld()
    for (let i = 0; i < 300; i++) kept.push(...changesIn([record]).changes)
    expect(kept).toHaveLength(300)
    expect(heapOfOld() - before).toBeLessThan(150 * 1024 ** 2)
  })
})

/** Bytes of the heap in use after a collection. */
function heapOfOld(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const isOver = ({ begins }: Change) => !begins
const messages = (count: number, overrides: Partial<Change> = {}) =>
  Array.from({ length: count }, (_, i) =>
    buildWithdrawal({ kind: 'message', name: `default/${i}`, ...(overrides as object) }),
  )

/** As many withdrawals of long names as have room, and one more. */
function fill(mostExcess?: number, partitions = 1) {
  const last = new LastChanges(partitions, isOver, mostExcess)
  const changes: Change[] = []
  while (!last.isOverfull) {
    const name = `default/${changes.length}`.padEnd(1_000, 'x')
    changes.push(buildWithdrawal({ kind: 'message', name }))
    last.add(changes.at(-1)!, 0)
  }
  return { last, changes, excess: changes.at(-1)! }
}

const another = buildWithdrawal({ kind: 'tenant', name: 'x'.repeat(1_000) })

describe('more withdrawals than fit', () => {
  test('are known to be missing', () => {
    const last = new LastChanges(1, isOver)
    for (const change of messages(mostInForce)) last.add(change, 0)
    expect(last.isOverfull).toBe(false)
    last.add(buildWithdrawal(), 0)
    expect(last.isOverfull).toBe(true)
    expect([...last]).toHaveLength(mostInForce)
  })

  test('stop every command at once, prepared ones too', () => {
    const controls = new Controls(loadSettings({ env: {} }), new ManualClock())
    const command = { account: 'default', idText: '1', correlationId: null, tenant: null, campaign: null }
    for (const change of messages(mostInForce)) controls.apply(change)
    expect([controls.hasPauses, controls.stopping(command, 'busgate.commands.otp')]).toEqual([false, null])
    controls.apply(buildWithdrawal())
    expect(controls.hasPauses).toBe(true)
    expect(controls.stopping(command, 'busgate.commands.otp')).not.toBe(null)
    controls.close()
  })

  test('of long names are known to be missing earlier', () => {
    expect(fill().changes.length).toBeLessThan(20_000)
  })

  test('are missing until each of them has ended', () => {
    const { last, excess } = fill()
    last.add(another, 0)
    last.add({ ...excess, begins: false }, 0)
    expect(last.isOverfull).toBe(true)
    last.add({ ...another, begins: false }, 0)
    expect(last.isOverfull).toBe(false)
  })

  test('are missing for good if they are too many to know when all have ended', async () => {
    const { last, excess } = fill(1)
    last.add(another, 0)
    for (const change of [excess, another]) last.add({ ...change, begins: false }, 0)
    await last.complete(async () => {})
    expect(last.isOverfull).toBe(true)
  })

  test('are not completed with what ends during the second reading', async () => {
    const { last, changes, excess } = fill()
    last.add(another, 0)
    for (const change of changes.slice(0, 10)) last.add({ ...change, begins: false }, 0)
    await last.complete(async take => {
      for (const change of [excess, another]) take(change, 0)
      last.add({ ...another, begins: false }, 0)
    })
    expect([last.isOverfull, last.has(excess), last.has(another)]).toEqual([false, true, false])
  })

  test('are completed even if it is only one', async () => {
    const { last, changes, excess } = fill()
    last.add({ ...changes[0]!, begins: false }, 0)
    await last.complete(async take => take(excess, 0))
    expect([last.isOverfull, last.has(excess)]).toEqual([false, true])
  })

  test('stay missing across several partitions, where an older change may come last', () => {
    const { last, changes, excess } = fill(undefined, 2)
    for (const change of changes.slice(0, 200)) last.add({ ...change, reason: null }, 0)
    last.add({ ...excess, begins: false, at: excess.at - 1 }, 1)
    expect(last.isOverfull).toBe(true)
  })

  test('are not looked for in a second reading if there are none', async () => {
    const last = new LastChanges(1, isOver)
    last.add(buildWithdrawal(), 0)
    await last.complete(() => expect.unreachable('it is read again'))
    expect([...last]).toEqual([buildWithdrawal()])
  })

  test('are completed by a second reading once enough have ended', async () => {
    const log = [...messages(mostInForce + 1_000), ...messages(mostInForce, { begins: false })]
    const last = new LastChanges(1, isOver)
    for (const change of log) last.add(change, 0)
    expect([last.isOverfull, [...last].length]).toEqual([true, 0])
    await last.complete(async take => {
      for (const change of log) take(change, 0)
    })
    expect([last.isOverfull, [...last].length]).toEqual([false, 1_000])
    expect([...last].map(keyOf)).toContain(`withdrawn/message/default/${mostInForce + 999}`)
  })
})

test('changes of any size take no more room than there is, and it is free again', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40_000_000 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(sizes, lengths => {
      const room = new ControlRoom()
      const changes = lengths.map(length => ({ ...buildPause({}), reason: { length } as unknown as string }))
      const taken = changes.filter(change => room.take(change))
      expect(room.used).toBeLessThanOrEqual(1)
      for (const change of changes.filter(one => !taken.includes(one))) {
        const alone = new ControlRoom()
        if (alone.take(change)) expect(room.used + alone.used).toBeGreaterThan(1)
      }
      for (const change of taken) room.release(change)
      expect(room.used).toBe(0)
    }),
  )
})
