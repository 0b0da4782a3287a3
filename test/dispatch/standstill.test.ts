import { describe, expect, test } from 'vitest'
import { buildCommand } from '../support/commands.ts'
import { buildSending } from '../support/sending.ts'

const minute = 60_000
const commands = (from: number, count: number, account = 'default') =>
  Array.from({ length: count }, (_, i) => buildCommand({ id: BigInt(from + i), account }))

describe('a standstill that ends the worker', () => {
  test('is a request that never ends, although others go on', async () => {
    const { put, pass, fatals } = await buildSending({ takes: ({ ids }) => (ids[0] === 1 ? Infinity : 10) })
    put('bulk', commands(1, 1))
    await pass(1_000)
    for (let id = 2; id < 8 && fatals.length === 0; id++) {
      put('bulk', commands(id, 1))
      await pass(minute, 1_000)
    }
    expect(fatals[0]).toContain('an envelope of bulk/0 does not end')
  })

  test('is a commit that never ends', async () => {
    const atBroker = (step: string) => (step.startsWith('commit ') ? new Promise<void>(() => {}) : undefined)
    const { put, pass, fatals } = await buildSending({ atBroker })
    put('bulk', commands(1, 1))
    for (let id = 2; id < 9 && fatals.length === 0; id++) {
      put('urgent', commands(id, 1))
      await pass(minute, 1_000)
    }
    expect(fatals[0]).toContain('no progress for 300 s')
  })
})

describe('no standstill', () => {
  test('is an account that may not send, with thousands of commands', async () => {
    const { put, pass, denied, fatals } = await buildSending()
    denied.add('other')
    put('bulk', commands(1, 9_000, 'other'))
    await pass(15 * minute, 1_000)
    expect(fatals).toEqual([])
  })

  test('is a partition whose records are all beyond a window that waits for one account', async () => {
    const { put, pass, denied, fatals } = await buildSending()
    denied.add('other')
    put('bulk', commands(1, 1, 'other'))
    put('bulk', commands(2, 9_000))
    await pass(15 * minute, 1_000)
    expect(fatals).toEqual([])
  })
})
