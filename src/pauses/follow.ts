import { BusUnavailable } from '../bus/errors.ts'
import type { Bus, BusRecord, Reader, TopicLook } from '../bus/port.ts'
import { type Clock, limited } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { type Change, readChange } from './change.ts'
import { requireReadable } from './control-topic.ts'
import { LastChanges } from './last-changes.ts'
import { Pauses } from './pauses.ts'

export interface FollowPausesOptions {
  bus: Pick<Bus, 'lookAt' | 'read'>
  /** The control topic. */
  topic: string
  clock: Clock
  telemetry: Telemetry
}

export interface FollowedPauses {
  pauses: Pauses
  /** Why pauses are not heard of now; null: they are. */
  readonly trouble: string | null
  close(): Promise<void>
}

/** This often it is looked whether the topic is still the one that is read, and has no more partitions. */
const lookMs = 5_000
/** What cannot be read is tried again after this long. */
const retryMs = 30_000
/** The records of the topic are waited for this long. */
const readMs = 10_000

/**
 * Follows what is paused, as the control topic tells. Resolves when all that stands there is known, so that nothing is sent before;
 * where the topic does not exist or may not be read, nothing is paused until it can be. When it is made anew, or gets more
 * partitions, what stands there then takes the place of all that was told before.
 * @throws BusUnavailable that says what is waited for
 */
export async function followPauses({ bus, topic, clock, telemetry }: FollowPausesOptions): Promise<FollowedPauses> {
  const pauses = new Pauses(clock)
  let reader: Reader | null = null
  /** What the reader reads. */
  let known: TopicLook | null = null
  let trouble: string | null = null
  let isClosed = false
  let cancelLook = () => {}

  const read = async (look: TopicLook) => {
    await reader?.close()
    reader = null
    const last = new LastChanges()
    let isCaughtUp = false
    const opening = bus.read([topic], 'earliest', ({ partition }, records) => {
      for (const change of changesOf(records, partition)) {
        if (isCaughtUp) pauses.apply(change)
        else last.add(change, partition)
      }
    })
    const begun = await caughtUp(opening)
    isCaughtUp = true
    if (isClosed) return begun.close()
    reader = begun
    known = look
    const by = `${topic}, which tells of it no more`
    for (const change of [...pauses.inForce]) {
      if (!last.has(change)) pauses.apply({ ...change, paused: false, by, at: clock.now() })
    }
    for (const change of last) pauses.apply(change)
  }

  const caughtUp = async (opening: Promise<Reader>): Promise<Reader> => {
    const unread = `the pauses on ${topic} could not be read within ${readMs / 1000} s`
    const reading = opening.then(async begun => {
      await begun.caughtUp()
      return { begun }
    })
    const outcome = await limited(
      clock,
      readMs,
      reading.catch((error: Error) => ({ error })),
      unread,
    ).catch(() => ({ error: new BusUnavailable(unread) }))
    if ('begun' in outcome) return outcome.begun
    opening.then(
      begun => begun.close(),
      () => {},
    )
    throw outcome.error
  }

  function* changesOf(records: readonly BusRecord[], partition: number): Generator<Change> {
    for (const record of records) {
      try {
        if (record.unreadable) throw new Error(record.unreadable.message)
        yield readChange(record)
      } catch (error) {
        telemetry.emit('pause.unreadable', { topic, partition, offset: record.offset, error: error as Error })
      }
    }
  }

  const tell = ({ kind, name, paused, by, at, until, reason }: Change) => {
    if (paused) telemetry.emit('pause.begun', { kind, name, by, at, until, reason })
    else telemetry.emit('pause.ended', { kind, name, by, at })
  }

  /** @throws Error that says why pauses cannot be heard of */
  const examine = async (look: TopicLook | null) => {
    requireReadable(topic, look)
    if (reader === null || look.id !== known?.id || look.partitions !== known.partitions) await read(look)
    trouble = null
  }

  const lookAgain = async () => {
    try {
      await examine(await bus.lookAt(topic))
      lookLater(lookMs)
    } catch (error) {
      unheard(error as Error)
    }
  }

  const unheard = (error: Error) => {
    if (isClosed) return
    if (error.message !== trouble) telemetry.emit('pauses.unavailable', { topic, error })
    trouble = error.message
    lookLater(reader === null ? retryMs : lookMs)
  }

  const lookLater = (ms: number) => {
    cancelLook = isClosed ? () => {} : clock.after(ms, () => void lookAgain())
  }

  pauses.onChange(tell)
  try {
    await examine(await bus.lookAt(topic))
    lookLater(lookMs)
  } catch (error) {
    if (error instanceof BusUnavailable) {
      pauses.close()
      throw error
    }
    unheard(error as Error)
  }
  return {
    pauses,
    get trouble() {
      return trouble
    },
    async close() {
      isClosed = true
      cancelLook()
      pauses.close()
      await reader?.close()
    },
  }
}
