import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { stopWhileStarting } from '../../src/cli/commands/run.ts'
import type { Worker } from '../../src/worker.ts'

const second = 1000

/** A worker that is told to stop while one of its roles waits for the group, without end. */
function stopStarting({ hasBegun }: { hasBegun: boolean }) {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line).event) })
  const giveUp = new AbortController()
  const { promise: starting, reject } = Promise.withResolvers<Worker>()
  const codes: number[] = []
  const stop = stopWhileStarting({ starting, giveUp, hasBegun: () => hasBegun, stopMs: 45 * second, logger })
  void stop.then(code => codes.push(code))
  return {
    lines,
    codes,
    giveUp,
    /** What is in flight is finished, and the start given up. */
    finish: () => reject(giveUp.signal.reason),
    fail: (error: Error) => reject(error),
  }
}

describe('a stop while a role still starts', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
  })

  test('waits for what the other roles have in flight', async () => {
    const { giveUp, codes, lines, finish } = stopStarting({ hasBegun: true })
    expect(giveUp.signal.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(30 * second)
    expect(codes).toEqual([])
    finish()
    await vi.advanceTimersByTimeAsync(0)
    expect({ codes, lines }).toEqual({ codes: [0], lines: ['worker.stopped'] })
  })

  test('is a failure when that is not finished in time', async () => {
    const { codes, lines } = stopStarting({ hasBegun: true })
    await vi.advanceTimersByTimeAsync(46 * second)
    expect({ codes, lines }).toEqual({ codes: [1], lines: ['worker.failed'] })
  })

  test('is a failure when that fails', async () => {
    const { codes, lines, fail } = stopStarting({ hasBegun: true })
    fail(new Error('the bus is closed'))
    await vi.advanceTimersByTimeAsync(second)
    expect({ codes, lines }).toEqual({ codes: [1], lines: ['worker.failed'] })
  })

  test('ends after five seconds when nothing has begun yet', async () => {
    const { codes } = stopStarting({ hasBegun: false })
    await vi.advanceTimersByTimeAsync(4 * second)
    expect(codes).toEqual([])
    await vi.advanceTimersByTimeAsync(2 * second)
    expect(codes).toEqual([0])
  })
})
