import { z } from 'zod'
import { addressed, hook, operationObject, seconds } from '../fields.ts'
import { must } from '../messages.ts'
import type { Operation } from '../operation.ts'
import { sendPayload } from '../send-payload.ts'

const digits = must('text of 4 to 8 digits')

/**
 * A one-time password over Telegram: `message` holds 4 to 8 digits. `telegram_lifetime` in seconds, at least 60, 172800
 * when left out.
 * Specification: telegram (one-time password only).
 */
export const telegram = {
  schema: operationObject('telegram', {
    ...addressed,
    message: z.string({ error: digits }).regex(/^\d{4,8}$/, { error: digits }),
    hook: hook.optional(),
    telegram_lifetime: seconds(60).optional(),
  }),
  payload: sendPayload,
  section: 'telegram (one-time password only)',
  hook: 'accepted',
} satisfies Operation

export type TelegramOperation = z.infer<typeof telegram.schema>
