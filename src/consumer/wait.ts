import type { Settings } from '../config/index.ts'
import type { SendResult } from '../records/generated.ts'
import { isFinalOf } from './final.ts'
import { type ReaderOptions, read, resultsOf } from './read.ts'

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
 * Waits for the final result of the message with this id; skips IN_DOUBT and DUPLICATE. Each call reads the results topic on
 * its own: for many messages, use `readResults`.
 * @throws the signal's reason when aborted, after a time-out with the place to look; Error as `readResults`
 */
export async function waitForResult(
  settings: Settings,
  id: bigint | number,
  { account, since = new Date(Date.now() - sinceMs), ...options }: WaitOptions = {},
): Promise<SendResult> {
  const message = { id: BigInt(id), ...(account !== undefined && { account }) }
  const key = String(message.id)
  const began = performance.now()
  const isKeyed = (record: { key: Buffer | null }) => record.key?.toString() === key
  const results = read(settings, resultsOf(settings), { ...options, from: since }, isKeyed)
  for await (const { value } of results) if (isFinalOf(value, message)) return value
  const { reason } = options.signal!
  if (reason?.name !== 'TimeoutError') throw reason
  const [of, flag] = account === undefined ? ['any account', ''] : [`account ${account}`, ` --account ${account}`]
  const seconds = Math.round((performance.now() - began) / 100) / 10
  throw new DOMException(
    `${settings.topics.results} has no final result of message ${key} (${of}) after ${seconds} s: is a worker ` +
      `running? busgate message ${key}${flag} shows where the message is`,
    'TimeoutError',
  )
}
