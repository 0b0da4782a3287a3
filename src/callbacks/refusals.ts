import type { Clock } from '../clock.ts'
import type { ErrorPlace } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'

/** HTTP answer for each reason to refuse a callback. */
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
  overloaded: { status: 503, text: 'overloaded, try again', headers: { 'Retry-After': '5' } },
  not_published: { status: 503, text: 'the bus did not confirm, try again', headers: { 'Retry-After': '5' } },
  failed: { status: 503, text: 'internal error, try again', headers: { 'Retry-After': '5' } },
  /** the sender disconnected or was too slow; nobody reads this answer */
  aborted: { status: 408, text: 'the body did not arrive', headers: {} },
} satisfies Record<CallbackRefusal, { status: number; text: string; headers: Record<string, string> }>

/** Refusals with a cause on our side; the log warns of them. */
export const ours: ReadonlySet<CallbackRefusal> = new Set(['overloaded', 'not_published', 'failed'])

const everyMs = 60_000

/**
 * Reports refusals, counted by reason: the first at once, later ones once a minute, because strangers can cause any number of
 * them.
 * @returns a function that ends the reporting and reports the rest
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
    // refusals of the same tick share one report
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
