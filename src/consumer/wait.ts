import type { WaitLimit } from '../abort.ts'
import type { Settings } from '../config/index.ts'
import type { SendResult } from '../records/generated.ts'
import { problemOfId } from '../records/new-command.ts'
import { requireTime, type Time } from '../time.ts'
import type { ReaderOptions } from './read.ts'
import { ResultWait } from './result-wait.ts'
import { watchesOf } from './watches.ts'

/** What to wait for, and how long. */
export interface WaitOptions extends ReaderOptions, WaitLimit {
  /** Ids are unique within an account. Default: `default`. */
  account?: string
  /** Looks for results that were written at this time or later. Default: ten minutes ago. */
  since?: Time
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
  { signal, since = Date.now() - sinceMs, account = 'default', ...options }: WaitOptions = {},
): Promise<SendResult> {
  const problem = problemOfId(id)
  if (problem !== null) throw new Error(`waitForResult: ${problem}`)
  const wanted = { id, account, since: requireTime('since', since) }
  const watches = watchesOf(settings, options)
  try {
    return await new ResultWait(settings, watches, wanted, null).result(signal ?? new AbortController().signal)
  } finally {
    watches.results.closeIfIdle()
  }
}
