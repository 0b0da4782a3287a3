/** One request as the log remembers it: no key, no phone, no text. */
export interface LogEntry {
  /** ISO 8601. */
  at: string
  account: string | null
  operations: number
  /** Items refused; the whole envelope's refusal is in `error`. */
  refused: number
  error: string | null
  fault: string | null
}

export interface RequestLog {
  add(entry: LogEntry): void
  /** Oldest first. */
  list(): LogEntry[]
}

/** Keeps the last `size` entries. */
export function createLog(size: number): RequestLog {
  const entries: LogEntry[] = []
  let next = 0
  return {
    add(entry) {
      entries[next] = entry
      next = (next + 1) % size
    },
    list: () => [...entries.slice(next), ...entries.slice(0, next)],
  }
}
