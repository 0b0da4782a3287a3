import { expect, test } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { buildCommand } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

test('a worker that has stopped leaves no timer on the embedded bus that would keep the process alive', async () => {
  const pending = new Set<object>()
  const clock: Clock = {
    ...systemClock,
    after(ms, callback) {
      const timer = {}
      const end = () => pending.delete(timer)
      pending.add(timer)
      const cancel = systemClock.after(ms, () => {
        end()
        callback()
      })
      return () => {
        end()
        cancel()
      }
    },
  }
  const world = await startWorld({ broker: new MemoryBroker(clock) })
  await world.send([buildCommand({ id: 1n })])
  await world.finished(1)
  await world.quiet()
  expect(pending.size).toBe(0)
})
