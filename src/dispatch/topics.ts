import { partitionsOf } from '../bus/partitions.ts'
import type { Bus } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { type Settings, topicsWhere } from '../config/index.ts'
import type { Telemetry } from '../telemetry/events.ts'

/**
 * Doubts are keyed as commands are, so that a partition of theirs stands for one of the commands'.
 * @returns how many partitions of commands and doubts there are
 */
export async function checkTopics(bus: Bus, topics: Settings['topics']): Promise<number> {
  const { doubts } = topics
  const lasting = lastingTopics(topics)
  const partitions = await partitionsOf(bus, lasting)
  const joined = topicsWhere(topics, ({ partitions }) => partitions === 'of commands')
  const unequal = joined.filter(topic => partitions.get(topic) !== partitions.get(doubts))
  if (unequal.length > 0) {
    throw new Error(
      `${doubts} has ${partitions.get(doubts)} partitions, but ${unequal.map(topic => `${topic} has ${partitions.get(topic)}`).join(', ')}: ` +
        'give the topic of doubts and every command topic the same number',
    )
  }
  const compacted = await bus.compacted(lasting)
  if (compacted.length > 0) throw new Error(mustNotBeCompacted(compacted, topics))
  return joined.length * partitions.get(doubts)!
}

const lastingTopics = (topics: Settings['topics']) =>
  topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction !== null)

function mustNotBeCompacted(compacted: readonly string[], topics: Settings['topics']): string {
  const answers = topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction === 'answers')
  const why = compacted.every(topic => answers.includes(topic))
    ? 'or they no longer tell what was answered, and a reset of the progress sends it again'
    : 'or records are lost that nobody has read'
  return `${compacted.join(', ')} must not be compacted, ${why}: set cleanup.policy=delete`
}

export interface CompactionWatchOptions {
  bus: Bus
  topics: Settings['topics']
  clock: Clock
  telemetry: Telemetry
}

/** Looks again and again whether somebody has set a topic to be compacted. */
export interface CompactionWatch {
  /** Says which topics are, and what to do. */
  warnings(): string[]
  stop(): void
}

const checkMs = 30_000

export function watchCompaction({ bus, topics, clock, telemetry }: CompactionWatchOptions): CompactionWatch {
  let compacted: readonly string[] = []
  let isStopped = false
  let cancel = clock.after(checkMs, () => void check())
  async function check(): Promise<void> {
    const found = await bus.compacted(lastingTopics(topics)).catch(() => compacted)
    if (isStopped) return
    const untold = found.filter(topic => !compacted.includes(topic))
    compacted = found
    if (untold.length > 0) telemetry.emit('topics.compacted', { topics: untold })
    cancel = clock.after(checkMs, () => void check())
  }
  return {
    warnings: () => (compacted.length > 0 ? [mustNotBeCompacted(compacted, topics)] : []),
    stop() {
      isStopped = true
      cancel()
    },
  }
}
