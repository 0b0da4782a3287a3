import { type Classified, classify } from '../gateway/classify.ts'
import type { Answer } from '../gateway/connection.ts'
import { contain } from '../telemetry/contain.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { ErrorCode } from '../vocabulary/lists.ts'

const nonsense: Answer = { kind: 'response', request: '{}', status: 200, body: '', retryAfterMs: null }

/** Classifies an answer, as `classify` does. An answer that our code fails on says nothing. */
export function classifyContained(
  telemetry: Telemetry,
  ids: readonly (string | null)[],
  answer: Answer,
  errorTexts?: Readonly<Record<string, ErrorCode>>,
): Classified {
  return contain(
    telemetry,
    'answer',
    null,
    () => classify(ids, answer, errorTexts),
    () => classify(ids, nonsense),
  )
}
