/** An iterable that is read once, by one reader. */
export type Endable<T> = AsyncIterableIterator<T, void> & AsyncDisposable

/**
 * An iterable that ends at once when its reader returns or the signal is aborted, whatever it waits for: a generator alone
 * would first wait for its next value.
 * @param make is called when the first value is asked for
 */
export function endable<T>(make: (ending: AbortSignal) => AsyncGenerator<T, void>, signal?: AbortSignal): Endable<T> {
  const end = new AbortController()
  const ending = signal ? AbortSignal.any([signal, end.signal]) : end.signal
  let values: AsyncGenerator<T, void> | null = null
  const iterable: Endable<T> = {
    next() {
      values ??= make(ending)
      return values.next()
    },
    async return() {
      end.abort()
      await values?.return()
      return { done: true, value: undefined }
    },
    async [Symbol.asyncDispose]() {
      await iterable.return!()
    },
    [Symbol.asyncIterator]: () => iterable,
  }
  return iterable
}
