import { Told } from '../told.ts'
import { placeOf } from './error.ts'
import type { Telemetry } from './events.ts'
import type { Handling } from './labels.ts'
import type { RecordPlace } from './stable-events.ts'

/*
 * The boundary around each single thing from outside: a record, an answer, a callback. Whatever its content makes our code
 * throw is the outcome of this one thing, a counted fault and a log line. Everything else continues.
 */

/** Shortest interval between log lines about faults of one kind: the author of the content could cause any number. */
const tellMs = 1000

const faults = new WeakMap<Telemetry, Told>()

/** Counts and logs an error that was thrown while something foreign was handled. */
export function reportFault(telemetry: Telemetry, handling: Handling, place: RecordPlace | null, error: unknown): void {
  const told = faults.get(telemetry) ?? new Told(tellMs)
  faults.set(telemetry, told)
  const isTold = !told.isNew(handling, performance.now())
  telemetry.emit('fault.contained', { handling, place, error: placeOf(asError(error), 10), isTold })
}

/** Runs a step that handles something foreign. @param failed gives the outcome if the step throws */
export function contain<T>(
  telemetry: Telemetry,
  handling: Handling,
  place: RecordPlace | null,
  handle: () => T,
  failed: (error: Error) => T,
): T {
  try {
    return handle()
  } catch (error) {
    reportFault(telemetry, handling, place, error)
    return failed(asError(error))
  }
}

/** The same for an asynchronous step. */
export async function containAsync<T>(
  telemetry: Telemetry,
  handling: Handling,
  place: RecordPlace | null,
  handle: () => Promise<T>,
  failed: (error: Error) => T,
): Promise<T> {
  try {
    return await handle()
  } catch (error) {
    reportFault(telemetry, handling, place, error)
    return failed(asError(error))
  }
}

/** A thrown value need not be an error. */
const asError = (error: unknown): Error => (error instanceof Error ? error : new Error('no error was thrown'))
