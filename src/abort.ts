/** How long to wait. */
export interface WaitLimit {
  /** Stops waiting, for example `AbortSignal.timeout(30_000)`. Default: waits without a limit. */
  signal?: AbortSignal
}

/**
 * Waits for work, until the signal aborts; work that has begun goes on.
 * @param begin not called if the signal is aborted already
 * @param reasonOf the error for an aborted signal; default: its reason
 */
export async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  begin: () => Promise<T>,
  reasonOf = ({ reason }: AbortSignal): unknown => reason,
): Promise<T> {
  if (!signal) return await begin()
  if (signal.aborted) throw reasonOf(signal)
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const aborted = () => reject(reasonOf(signal))
  signal.addEventListener('abort', aborted, { once: true })
  begin().then(resolve, reject)
  return await promise.finally(() => signal.removeEventListener('abort', aborted))
}
