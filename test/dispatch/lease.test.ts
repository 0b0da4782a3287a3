import { expect, test } from 'vitest'
import { buildCommand } from '../support/commands.ts'
import { buildSending } from '../support/sending.ts'

test('while the lease is over no envelope is formed, and what waits leaves soon after it is back', async () => {
  const wire = { down: false, commits: 0 }
  const { put, pass, sent, fatals } = await buildSending({
    atBroker(step) {
      if (step === 'heartbeat' && wire.down) throw new Error('connect ECONNREFUSED')
      if (step === 'commit bulk/0') wire.commits++
    },
  })
  wire.down = true
  await pass(15_000)
  put('bulk', [buildCommand()])
  await pass(1_000)
  wire.commits = 0
  await pass(600_000) // longer than the watchdog lets anything stand still that nothing explains
  expect([sent('default'), wire.commits, fatals]).toEqual([[], 0, []])
  wire.down = false
  await pass(2_000)
  expect(sent('default')).toEqual([1001])
})
