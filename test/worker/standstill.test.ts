import { describe, expect, test } from 'vitest'
import { commandsFrom } from '../support/commands.ts'
import { startSendingWorld } from '../support/sending.ts'

const minute = 60_000

test('a commit that never ends makes the worker fail', async () => {
  const hop = (step: string) => (step.startsWith('commit ') ? new Promise<void>(() => {}) : Promise.resolve())
  const { put, pass, fatals } = await startSendingWorld({ hop, mayEnd: true })
  put('bulk', commandsFrom(1, 1))
  for (let id = 2; id < 9 && fatals.length === 0; id++) {
    put('urgent', commandsFrom(id, 1))
    await pass(minute, 1_000)
  }
  expect(fatals[0]).toContain('for 300 s')
})

describe('the worker does not fail', () => {
  test('while an account with thousands of commands may not send', async () => {
    const { put, pass, denied, fatals } = await startSendingWorld()
    denied.add('other')
    put('bulk', commandsFrom(1, 9_000, { account: 'other' }))
    await pass(15 * minute, 1_000)
    expect(fatals).toEqual([])
  })

  test('while the window of a partition is full because one account may not send', async () => {
    const { put, pass, denied, fatals } = await startSendingWorld()
    denied.add('other')
    put('bulk', commandsFrom(1, 1, { account: 'other' }))
    put('bulk', commandsFrom(2, 9_000))
    await pass(15 * minute, 1_000)
    expect(fatals).toEqual([])
  })
})
