/**
 * Computes the value of each key once.
 * @param known where the values are kept; a WeakMap for keys that may come and go
 */
export function memoized<K, V extends NonNullable<unknown>>(
  compute: (key: K) => V,
  known: { get(key: K): V | undefined; set(key: K, value: V): unknown } = new Map(),
): (key: K) => V {
  return key => {
    const found = known.get(key)
    if (found !== undefined) return found
    const value = compute(key)
    known.set(key, value)
    return value
  }
}
