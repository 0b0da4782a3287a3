import { z } from 'zod'
import { must } from './messages.ts'
import { tolerantId, tolerantNumber } from './tolerant.ts'

/**
 * `data` of a sent message (specification: Send result payload): `msg_id` is the gateway's identifier, `id` the echo of
 * the caller's, `parts` the number of parts billed. The meaning of `data` is not shown.
 */
export const sendPayload = z.looseObject(
  {
    id: tolerantId,
    msg_id: z.union([z.string(), z.number(), z.bigint()], { error: must("the gateway's identifier") }),
    parts: tolerantNumber,
    data: z.unknown().optional(),
  },
  { error: must('an object') },
)

export type SendPayload = z.infer<typeof sendPayload>
