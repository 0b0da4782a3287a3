export type Signal = 'SIGINT' | 'SIGTERM'

/** npm passes on what its terminal has sent to the whole group already: the same Ctrl-C arrives twice. */
const sameSignalMs = 500

/** Resolves with the first SIGINT or SIGTERM; a second one ends the process at once with 130. Called once a process. */
export function untilSignal(): Promise<Signal> {
  const { promise, resolve } = Promise.withResolvers<Signal>()
  let first: number | null = null
  const heard = (signal: Signal) => {
    if (first !== null && performance.now() - first > sameSignalMs) process.exit(130)
    first ??= performance.now()
    resolve(signal)
  }
  process.on('SIGINT', heard)
  process.on('SIGTERM', heard)
  return promise
}

/** Waits no longer than `ms`. @throws Error when `what` took longer */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
