import { expect, test } from 'vitest'
import { buildCommand } from '../support/commands.ts'
import { buildSending } from '../support/sending.ts'

test('doubts of a partition that another process has taken over are no longer counted as open', async () => {
  const answers = () => ({ kind: 'lost', cause: 'timeout', message: 'no answer' }) as const
  const { put, pass, gauge, joinAnother } = await buildSending({ answers })
  put('bulk', [buildCommand()])
  await pass(1_000)
  expect(gauge('doubts_open')).toBe(1)
  joinAnother()
  await pass(5_000)
  expect(gauge('doubts_open')).toBe(0)
})
