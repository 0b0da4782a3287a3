import { expect, test, vi } from 'vitest'
import { sleep, systemClock } from '../src/clock.ts'

test('a time that is over has come at once, and Node has nothing to warn of', async () => {
  const warned = vi.spyOn(process, 'emitWarning')
  await sleep(systemClock, -12)
  expect(warned).not.toHaveBeenCalled()
})
