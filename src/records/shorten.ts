/** One step to a shorter record: what is long in these fields goes. */
export interface Shortening<T> {
  /** Optional fields: they become null, lists become empty. */
  out?: readonly (keyof T & string)[]
  /** Texts that must be there: they are cut. */
  cut?: readonly (keyof T & string)[]
  /** Characters that are not yet long. */
  longest: number
}

/** The record after these steps. Its `error` tells what is missing. */
export function shortened<T extends { error: string | null }>(whole: T, steps: readonly Shortening<T>[]): T {
  const changed = new Set<string>()
  let record = whole
  for (const { out = [], cut = [], longest } of steps) {
    const isLong = (name: keyof T) => lengthOf(record[name]) > longest
    const changes = [
      ...out.filter(isLong).map(name => [name, Array.isArray(record[name]) ? [] : null]),
      ...cut.filter(isLong).map(name => [name, String(record[name]).slice(0, longest)]),
    ] as [string, unknown][]
    for (const [name] of changes) changed.add(name)
    record = { ...record, ...Object.fromEntries(changes) }
  }
  if (changed.size === 0) return whole
  const note = `too large for the topic, so left out or cut: ${[...changed].join(', ')}`
  return { ...record, error: record.error === null ? note : `${record.error} (${note})` }
}

function lengthOf(value: unknown): number {
  if (value === null) return 0
  return typeof value === 'string' ? value.length : JSON.stringify(value).length
}
