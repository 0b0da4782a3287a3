import type { SessionState, TopicPartition } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'

export interface WatchdogOptions {
  sessions: () => Iterable<SessionState>
  /** Requests that hold a slot: the same objects from their beginning to their committed end. */
  underWay: () => Iterable<{ what: string }>
  /** Whether something known keeps commands in memory: an account that may not send, a registry or a group that cannot be asked. */
  heldBack: () => boolean
  /** Whether the bus cannot be asked: no records come then. */
  isBusAway: () => boolean
  /** Whether an open transaction keeps the partition from being read, which no restart cures. */
  isBlocked: (tp: TopicPartition) => boolean
  /** The topic whose commands wait on purpose. */
  doubtsTopic: string
  /** gateway.timeoutMs: so long a request may take. */
  timeoutMs: number
  clock: Clock
  telemetry: Telemetry
  /** Something does not end, and nothing explains it. */
  stuck: (error: Error) => void
}

/** A state that is a standstill if it lasts. */
interface Standstill {
  /** Another one as soon as there is progress. */
  key: unknown
  what: string
  patienceMs: number
}

/** Longer than any wait of a healthy worker but a request's own. */
const leastPatienceMs = 300_000
/** A producer's open transaction hides records for 15 minutes at most, unless the broker is set otherwise. */
const readingPatienceMs = 1_200_000
const checkMs = 10_000

/**
 * A worker that has work and does none must not stay alive: its supervisor can cure what a session cannot. Waiting is no
 * standstill, as long as others are served or something known is waited for; nor is a partition that is not open.
 * @returns a function that ends the watch
 */
export function watchProgress(options: WatchdogOptions): () => void {
  const { telemetry, clock, stuck } = options
  const commits = new Map<string, number>()
  let steps = 0
  const step = () => void steps++
  const committed = (tp: { topic: string; partition: number }) => {
    step()
    commits.set(nameOf(tp), steps)
  }
  telemetry.on('cycle.committed', committed)
  telemetry.on('envelope.finished', step)

  let since = new Map<unknown, number>()
  let cancel = clock.after(checkMs, check)
  function check(): void {
    const now = clock.monotonic()
    const standstills = [...standstillsIn(options, commits, steps)]
    since = new Map(standstills.map(({ key }) => [key, since.get(key) ?? now]))
    for (const { key, what, patienceMs } of standstills) {
      if (now - since.get(key)! <= patienceMs) continue
      stuck(new Error(`no progress for ${patienceMs / 1000} s, for no known reason: ${what}`))
    }
    cancel = clock.after(checkMs, check)
  }

  return () => {
    cancel()
    telemetry.off('cycle.committed', committed)
    telemetry.off('envelope.finished', step)
  }
}

function* standstillsIn(
  { sessions, underWay, heldBack, isBusAway, isBlocked, doubtsTopic, timeoutMs }: WatchdogOptions,
  commits: ReadonlyMap<string, number>,
  steps: number,
): Generator<Standstill> {
  const patienceMs = Math.max(leastPatienceMs, 2 * timeoutMs)
  for (const request of underWay()) {
    yield { key: request, what: `${request.what} does not end`, patienceMs }
  }
  const open = [...sessions()].filter(session => session.open)
  for (const session of open) {
    const name = nameOf(session)
    const key = `${name}, last commit ${commits.get(name)}`
    const { committing, lag, windowUsed } = session
    if (committing) yield { key: `commit of ${key}`, what: `a commit of ${name} does not end`, patienceMs }
    if (lag > 0 && windowUsed === 0 && !isBusAway() && !isBlocked(session)) {
      const what = `the records of ${name} do not come`
      yield { key: `reading of ${key}`, what, patienceMs: readingPatienceMs }
    }
  }
  const waiting = open.find(({ topic, windowUsed }) => topic !== doubtsTopic && windowUsed > 0)
  if (waiting && !heldBack()) {
    yield {
      key: `step ${steps}`,
      what: `nothing is sent or committed, though ${nameOf(waiting)} has commands`,
      patienceMs,
    }
  }
}

const nameOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}/${partition}`
