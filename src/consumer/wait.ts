import type { Settings } from '../config/index.ts'
import type { SendResult } from '../records/generated.ts'
import { isFinalOf } from './final.ts'
import { type ReaderOptions, read, resultsOf } from './read.ts'

export interface WaitOptions extends ReaderOptions {
  /** Ids are unique within an account. Default: any account. */
  account?: string
  /** The result was written at this time or later. Default: ten minutes ago. */
  since?: Date
  /** Gives up, e.g. `AbortSignal.timeout(30_000)`. Without it a result that never comes is waited for without end. */
  signal?: AbortSignal
}

const sinceMs = 10 * 60_000

/**
 * Waits for the final result of the message with this id; IN_DOUBT and DUPLICATE are passed over. Each call reads the
 * topic of results by itself: whoever waits for many messages reads them with `readResults`.
 * @throws the signal's reason when it gave up; Error as `readResults`
 */
export async function waitForResult(
  settings: Settings,
  id: bigint | number,
  { account, since = new Date(Date.now() - sinceMs), ...options }: WaitOptions = {},
): Promise<SendResult> {
  const message = { id: BigInt(id), ...(account !== undefined && { account }) }
  const key = String(message.id)
  const isKeyed = (record: { key: Buffer | null }) => record.key?.toString() === key
  const results = read(settings, resultsOf(settings), { ...options, from: since }, isKeyed)
  for await (const { value } of results) if (isFinalOf(value, message)) return value
  throw options.signal?.reason
}
