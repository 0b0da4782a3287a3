import type { Clock } from '../clock.ts'
import type { ErrorPlace } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'
import { ours } from './refusals.ts'

const everyMs = 60_000

/**
 * Tells what was refused, counted by its reasons: the first at once, what follows once a minute. Strangers decide how often
 * something is refused, so not each time.
 * @returns to be called at the end: tells what was not told yet
 */
export function reportRefusals(telemetry: Telemetry, clock: Clock): () => void {
  let counts: Partial<Record<CallbackRefusal, number>> = {}
  let error: ErrorPlace | null = null
  let cancel: (() => void) | null = null

  const tell = () => {
    cancel = null
    const reasons = Object.keys(counts) as CallbackRefusal[]
    if (reasons.length === 0) return
    telemetry.emit('callbacks.refused', { counts, error, isOurs: reasons.some(reason => ours.has(reason)) })
    counts = {}
    error = null
    cancel = clock.after(everyMs, tell)
  }
  const note = (refused: { reason: CallbackRefusal; error?: ErrorPlace }) => {
    counts[refused.reason] = (counts[refused.reason] ?? 0) + 1
    error = refused.error ?? error
    // Refusals that come in the same moment are told together.
    cancel ??= clock.after(0, tell)
  }
  telemetry.on('callback.refused', note)
  return () => {
    telemetry.off('callback.refused', note)
    cancel?.()
    tell()
    cancel?.()
  }
}
