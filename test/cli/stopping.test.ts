import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { supervise } from '../../src/cli/commands/run.ts'
import type { Worker } from '../../src/create-worker.ts'

const second = 1000

/** Stops a worker while one of its roles still waits for the group, without end. */
async function stopStarting() {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line).event) })
  const giveUp = new AbortController()
  const { promise: starting, reject } = Promise.withResolvers<Worker>()
  const codes: number[] = []
  const stopAsked = Promise.resolve('SIGTERM' as const)
  const supervised = supervise({ starting, giveUp, stopAsked, stopMs: 45 * second, logger })
  void supervised.then(code => codes.push(code))
  await vi.advanceTimersByTimeAsync(0)
  expect({ aborted: giveUp.signal.aborted, lines: lines.splice(0) }).toEqual({
    aborted: true,
    lines: ['worker.stopping'],
  })
  return {
    lines,
    codes,
    /** Ends the requests in flight and the start. */
    finish: () => reject(giveUp.signal.reason),
    fail: (error: Error) => reject(error),
  }
}

describe('a stop while a role is starting', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
  })

  test("waits for the other roles' requests in flight", async () => {
    const { codes, lines, finish } = await stopStarting()
    await vi.advanceTimersByTimeAsync(30 * second)
    expect(codes).toEqual([])
    finish()
    await vi.advanceTimersByTimeAsync(0)
    expect({ codes, lines }).toEqual({ codes: [0], lines: ['worker.stopped'] })
  })

  test('exits 1 if the stop takes too long', async () => {
    const { codes, lines } = await stopStarting()
    await vi.advanceTimersByTimeAsync(50 * second)
    expect({ codes, lines }).toEqual({ codes: [1], lines: ['worker.failed'] })
  })

  test('exits 1 if the stop fails', async () => {
    const { codes, lines, fail } = await stopStarting()
    fail(new Error('the bus is closed'))
    await vi.advanceTimersByTimeAsync(second)
    expect({ codes, lines }).toEqual({ codes: [1], lines: ['worker.failed'] })
  })
})
