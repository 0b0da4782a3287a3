import type { Follower } from '../../src/bus/port.ts'
import { createDecoder, decodeAll } from '../../src/records/decoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'
import { type Lifecycle, lifecycleAfter, newLifecycle, verdictOf } from '../../src/statuses/lifecycle.ts'
import { indexOf } from './ids.ts'
import { truthOf } from './messages.ts'
import type { Stage } from './stage.ts'

/** What the status events say of one message. */
export interface Told {
  life: Lifecycle
  callbacks: number
  /** Final events of the reconciler. */
  polled: number
  /** Final events that do not say what the gateway knows. */
  false: number
  /** Where the first final event came from. */
  verdictFrom: 'CALLBACK' | 'POLL' | null
}

/** Reads status events as any consumer does, from the beginning to the end. */
export class StatusAudit {
  readonly told: Told[]
  /** Timestamp of the last event that changed a message's verdict, milliseconds since 1970. */
  lastVerdictAt = 0
  #followers: Follower[] = []

  /** Resolves when all is read that is there now; goes on with what comes. */
  static async of(stage: Stage, commands: number): Promise<StatusAudit> {
    const audit = new StatusAudit(commands)
    await audit.#read(stage)
    await audit.toTheEnd()
    return audit
  }

  private constructor(commands: number) {
    this.told = Array.from({ length: commands }, () => ({
      life: newLifecycle,
      callbacks: 0,
      polled: 0,
      false: 0,
      verdictFrom: null,
    }))
  }

  async #read({ bus, settings, registry }: Stage): Promise<void> {
    const topic = settings.topics.statuses
    const decoder = createDecoder<StatusEvent>(schemas.status, registry)
    const partitions = (await bus.partitions([topic])).get(topic)!
    const follow = (partition: number) =>
      bus.follow({ topic, partition }, 'earliest', async records => {
        const events = await decodeAll(decoder, records)
        for (const [i, decoded] of events.entries()) {
          if (!decoded.ok) throw new Error('a status event cannot be decoded')
          this.#note(decoded.value, records[i]!.timestamp)
        }
      })
    this.#followers = await Promise.all(Array.from({ length: partitions }, (_, partition) => follow(partition)))
  }

  /** Everything that is committed now. */
  async toTheEnd(): Promise<void> {
    await Promise.all(this.#followers.map(follower => follower.caughtUp()))
  }

  #note(event: StatusEvent, timestamp: number): void {
    const index = indexOf(event.id)
    const told = this.told[index]!
    const before = verdictOf(told.life)
    told.life = lifecycleAfter(told.life, event)
    if (verdictOf(told.life) !== before) this.lastVerdictAt = Math.max(this.lastVerdictAt, timestamp)
    if (event.source === 'CALLBACK') told.callbacks++
    if (!event.final) return
    told.verdictFrom ??= event.source === 'POLL' ? 'POLL' : 'CALLBACK'
    if (event.source === 'POLL') told.polled++
    if (event.state !== truthOf(index)) told.false++
  }
}
