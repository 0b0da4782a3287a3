import type { Bus, TopicPartition } from '../bus/port.ts'
import { systemClock } from '../clock.ts'
import { changesIn, pausedBy } from '../pauses/change.ts'
import { Pauses } from '../pauses/pauses.ts'
import { FollowedTopic } from './followed-topic.ts'
import type { Pause } from './now.ts'

/** Follows the control topic for what operators have paused. It is read from its beginning, for it is compacted and small. */
export class OperatorPauses {
  readonly #pauses = new Pauses(systemClock)
  readonly #topic: FollowedTopic

  constructor(bus: Bus, topic: string) {
    const earliest = async (tps: readonly TopicPartition[]) => tps.map(() => 'earliest' as const)
    this.#topic = new FollowedTopic(bus, topic, earliest, (_, records) => {
      for (const change of changesIn(records)) this.#pauses.apply(change)
    })
  }

  get trouble(): string | null {
    return this.#topic.trouble
  }

  now(): Pause[] {
    return [...this.#pauses.inForce].map(pause => ({ what: `${pause.kind} ${pause.name}`, why: pausedBy(pause) }))
  }

  close(): Promise<void> {
    this.#pauses.close()
    return this.#topic.close()
  }
}
