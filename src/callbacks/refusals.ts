import type { Clock } from '../clock.ts'
import type { ErrorPlace } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'

/** Why a callback was not taken, and what its sender is told. */
export const refusals = {
  method: { status: 405, text: 'only POST is answered here', headers: { Allow: 'POST' } },
  path: { status: 404, text: 'no such address', headers: {} },
  malformed: { status: 404, text: 'no such address', headers: {} },
  forged: { status: 404, text: 'no such address', headers: {} },
  expired: { status: 404, text: 'no such address', headers: {} },
  other_id: { status: 404, text: 'no such address', headers: {} },
  unknown_key: { status: 503, text: 'this address cannot be read yet, try again', headers: { 'Retry-After': '30' } },
  too_large: { status: 413, text: 'the body is too large', headers: {} },
  not_utf8: { status: 400, text: 'the body is not UTF-8, or is compressed', headers: {} },
  bad_json: { status: 400, text: 'the body is not JSON, or is compressed', headers: {} },
  bad_body: { status: 400, text: 'the body is not a status callback: success (boolean) is required', headers: {} },
  overloaded: { status: 503, text: 'too much at once, try again', headers: { 'Retry-After': '5' } },
  not_published: { status: 503, text: 'the bus did not confirm, try again', headers: { 'Retry-After': '5' } },
  failed: { status: 503, text: 'something failed here, try again', headers: { 'Retry-After': '5' } },
  /** The sender went away, or was too slow, before the body was complete: nobody is left to be told. */
  aborted: { status: 408, text: 'the body did not arrive', headers: {} },
} satisfies Record<CallbackRefusal, { status: number; text: string; headers: Record<string, string> }>

/** The log warns of these, since there may be something to do about them here. */
export const ours: ReadonlySet<CallbackRefusal> = new Set(['overloaded', 'not_published', 'failed'])

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
