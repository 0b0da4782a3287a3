import type { z } from 'zod'
import { operationObject, rcsFields } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { sendPayload } from '../send-payload.ts'

/**
 * An RCS message with an image and a button: `rcs_link` is followed when the button is pressed. `rcs_lifetime` in
 * seconds, at least 60, 172800 when left out.
 * Specification: rcs.
 */
export const rcs = {
  schema: operationObject('rcs', rcsFields),
  payload: sendPayload,
  section: 'rcs',
  hook: 'accepted',
} satisfies Operation

export type RcsOperation = z.infer<typeof rcs.schema>
