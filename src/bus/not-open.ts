import type { SessionState } from './port.ts'

/** At most this many partitions are named. */
const mostNamed = 5

/** Tells what to say of the partitions that are not open now, in one sentence; nothing where all are. */
export function notOpen(sessions: Iterable<SessionState>): string[] {
  const closed = [...sessions].filter(({ open }) => !open)
  if (closed.length === 0) return []
  const named = closed.slice(0, mostNamed).map(({ topic, partition }) => `${topic}/${partition}`)
  const others = closed.length - named.length
  return [
    `${named.join(', ')}${others > 0 ? ` and ${others} more` : ''} ${closed.length === 1 ? 'is' : 'are'} not open`,
  ]
}
