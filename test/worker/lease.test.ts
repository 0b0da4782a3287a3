import { describe, expect, test } from 'vitest'
import { buildCommand } from '../support/commands.ts'
import { startSendingWorld } from '../support/sending.ts'

test('without a lease no envelope is formed; waiting commands are sent soon after it is back', async () => {
  const wire = { down: false, commits: 0 }
  const { put, pass, sent, fatals } = await startSendingWorld({
    hop: async (step, way) => {
      if (way === 'back') return
      if (step === 'heartbeat' && wire.down) throw new Error('connect ECONNREFUSED')
      if (step === 'commit bulk/0') wire.commits++
    },
  })
  wire.down = true
  await pass(15_000)
  put('bulk', [buildCommand()])
  await pass(1_000)
  wire.commits = 0
  await pass(600_000) // longer than the watchdog allows a standstill without a known cause
  expect([sent('default'), wire.commits, fatals]).toEqual([[], 0, []])
  wire.down = false
  await pass(2_000)
  expect(sent('default')).toEqual([1001])
})

describe('envelopes that are prepared when the machine is suspended', () => {
  const hour = 3_600_000

  /** One command is in flight and the next one is prepared. From then on heartbeats are not answered. */
  async function prepare() {
    const wire = { held: Promise.withResolvers<void>(), holds: false }
    const sending = await startSendingWorld({
      gateway: { concurrency: 1, maxOperations: 1, lingerMs: 0 },
      takes: () => 300,
      hop: async (step, way) => {
        if (way === 'there' && step === 'heartbeat' && wire.holds) await wire.held.promise
      },
    })
    sending.put('bulk', [buildCommand({ id: 1n }), buildCommand({ id: 2n })])
    await sending.pass(200, 10)
    expect(sending.sent('default')).toEqual([1])
    wire.holds = true
    return { ...sending, answerHeartbeats: wire.held.resolve }
  }

  test.each([
    ['its clocks are right', 0],
    ['its wall clock is set back meanwhile', -12_000],
  ])('are not sent before the group has answered again: %s', async (_, stepMs) => {
    const { clock, pass, sent, answerHeartbeats } = await prepare()
    clock.suspend(12_000)
    clock.step(stepMs)
    await pass(400, 10)
    expect(sent('default')).toEqual([1])
    answerHeartbeats()
    await pass(2_000, 10)
    expect(sent('default')).toEqual([1, 2])
  })

  test('are not sent if only the wall clock shows the suspend, set by the host of a virtual machine', async () => {
    const { clock, pass, sent } = await prepare()
    clock.step(12_000)
    await pass(400, 10)
    expect(sent('default')).toEqual([1])
  })

  test.each([-hour, 5_000])(
    'are sent although the wall clock is set by %d ms, because the lease is still valid',
    async stepMs => {
      const { clock, pass, sent } = await prepare()
      clock.step(stepMs)
      await pass(400, 10)
      expect(sent('default')).toEqual([1, 2])
    },
  )
})
