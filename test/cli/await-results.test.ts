import { expect, onTestFinished, test, vi } from 'vitest'
import { awaitResults } from '../../src/cli/commands/await-results.ts'
import type { CommandHandle } from '../../src/producer.ts'

const minute = 60_000

/** Of a command whose time-out has passed. */
function handle(id: bigint, notBefore: number | null): CommandHandle {
  const late = async () => {
    throw new DOMException(`no result of ${id}`, 'TimeoutError')
  }
  return { id, account: 'default', notBefore, result: late, verdict: late }
}

test.each([
  ['ten minutes', [null, -minute], 10 * minute],
  ['until ten minutes after the last is due', [null, 60 * minute, 30 * minute], 70 * minute],
  ['not longer than a timer can', [365 * 24 * 60 * minute], 2 ** 31 - 1],
])('send --wait waits %s', async (_, aheads, expected) => {
  const timeout = vi.spyOn(AbortSignal, 'timeout')
  onTestFinished(() => timeout.mockRestore())
  const now = Date.now()
  const handles = aheads.map((ahead, i) => handle(BigInt(i + 1), ahead && now + ahead))
  const waiting = { ending: new AbortController().signal, asJson: undefined }
  expect(await awaitResults(handles, waiting)).toBe(false)
  expect(Math.ceil(timeout.mock.calls[0]![0] / minute)).toBe(Math.ceil(expected / minute))
})
