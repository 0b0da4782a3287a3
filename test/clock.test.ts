import { expect, test, vi } from 'vitest'
import { sleep, systemClock } from '../src/clock.ts'

test('a timer for a past time fires at once, without a warning of Node', async () => {
  const warned = vi.spyOn(process, 'emitWarning')
  await sleep(systemClock, -12)
  expect(warned).not.toHaveBeenCalled()
})
