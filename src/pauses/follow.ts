import { BusUnavailable } from '../bus/errors.ts'
import type { Bus, BusRecord, Reader } from '../bus/port.ts'
import { type Clock, limited } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { type Change, readChange } from './change.ts'
import { Pauses } from './pauses.ts'

export interface FollowPausesOptions {
  bus: Pick<Bus, 'partitions' | 'read'>
  /** The control topic. */
  topic: string
  clock: Clock
  telemetry: Telemetry
}

export interface FollowedPauses {
  pauses: Pauses
  close(): Promise<void>
}

/** A topic that cannot be read is looked for again after this long. */
const retryMs = 30_000
/** The records of the topic are waited for this long. */
const readMs = 10_000

/**
 * Follows what is paused, as the control topic tells. Resolves when all that stands there is known, so that nothing is sent before;
 * where the topic does not exist or may not be read, nothing is paused until it can be.
 * @throws BusUnavailable
 */
export async function followPauses({ bus, topic, clock, telemetry }: FollowPausesOptions): Promise<FollowedPauses> {
  const pauses = new Pauses(clock)
  let reader: Reader | null = null
  let isClosed = false
  let cancelRetry = () => {}

  const read = async () => {
    const begun = await bus.read([topic], 'earliest', ({ partition }, records) => {
      for (const record of records) take(record, partition)
    })
    const unread = `the pauses on ${topic} could not be read within ${readMs / 1000} s`
    try {
      await limited(clock, readMs, begun.caughtUp(), unread)
    } catch {
      await begun.close()
      throw new BusUnavailable(unread)
    }
    if (isClosed) return begun.close()
    reader = begun
    for (const change of pauses.inForce) tell(change)
    pauses.onChange(tell)
  }

  const take = (record: BusRecord, partition: number) => {
    try {
      if (record.unreadable) throw new Error(record.unreadable.message)
      pauses.apply(readChange(record))
    } catch (error) {
      telemetry.emit('pause.unreadable', { topic, partition, offset: record.offset, error: error as Error })
    }
  }

  const tell = ({ kind, name, paused, by, at, until, reason }: Change) => {
    if (paused) telemetry.emit('pause.begun', { kind, name, by, at, until, reason })
    else telemetry.emit('pause.ended', { kind, name, by, at })
  }

  const retry = async () => {
    try {
      await read()
    } catch (error) {
      unavailable(error as Error)
    }
  }

  const unavailable = (error: Error) => {
    if (isClosed) return
    if (!(error instanceof BusUnavailable)) telemetry.emit('pauses.unavailable', { topic, error })
    cancelRetry = clock.after(retryMs, () => void retry())
  }

  await read().catch(error => {
    if (!(error instanceof BusUnavailable)) return unavailable(error)
    pauses.close()
    throw error
  })
  return {
    pauses,
    async close() {
      isClosed = true
      cancelRetry()
      pauses.close()
      await reader?.close()
    },
  }
}
