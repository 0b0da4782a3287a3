import type { Settings } from '../config/index.ts'
import type { SendResult } from '../records/generated.ts'
import { problemOfId } from '../records/new-command.ts'
import { type ReaderOptions, requireTime } from './read.ts'
import { ResultWait } from './result-wait.ts'
import { watchesOf } from './watches.ts'

export interface WaitOptions extends ReaderOptions {
  /** Ids are unique within an account. Default: any account. */
  account?: string
  /** Looks for results that were written at this time or later. Default: ten minutes ago. */
  since?: Date
  /** Stops waiting, for example `AbortSignal.timeout(30_000)`. Without it, the wait has no limit. */
  signal?: AbortSignal
}

const sinceMs = 10 * 60_000

/**
 * Waits for the final result of the message with this id; skips IN_DOUBT and DUPLICATE. After a DUPLICATE it also searches the
 * whole topic, since the result of the first record may be older than `since`. All that wait with the same settings share one
 * reading of the topic. Who sent the command has a handle, which also knows its dead letter.
 * @throws the signal's reason when aborted; after a time-out, a TimeoutError that says what was found and where to look; Error
 * as `readResults`, or at once if the id or `since` is invalid
 */
export async function waitForResult(
  settings: Settings,
  id: bigint | number,
  { signal, since = new Date(Date.now() - sinceMs), account, ...options }: WaitOptions = {},
): Promise<SendResult> {
  const problem = problemOfId(id)
  if (problem !== null) throw new Error(`waitForResult: ${problem}`)
  requireTime('since', since)
  const watches = watchesOf(settings, options)
  const wanted = { id, since: since.getTime(), ...(account !== undefined && { account }) }
  try {
    return await new ResultWait(settings, watches, wanted, null).result(signal ?? new AbortController().signal)
  } finally {
    watches.results.closeIfIdle()
  }
}
