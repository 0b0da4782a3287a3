import { z } from 'zod'
import { addressed, hook, lifetime, operationObject } from '../fields.ts'
import { expecting } from '../messages.ts'
import type { Operation } from '../operation.ts'
import { sendPayload } from '../send-payload.ts'

const password = expecting('text of 4 to 8 digits', error => z.string({ error }).regex(/^\d{4,8}$/, { error }))

/**
 * A one-time password over Telegram: `message` holds 4 to 8 digits. `telegram_lifetime` in seconds, at least 60, 172800
 * when left out.
 * Specification: telegram (one-time password only).
 */
export const telegram = {
  schema: operationObject('telegram', {
    ...addressed,
    message: password.describe('The one-time password.'),
    hook: hook.optional(),
    telegram_lifetime: lifetime(60).optional(),
  }),
  payload: sendPayload,
  section: 'telegram (one-time password only)',
  hook: 'accepted',
} satisfies Operation

export type TelegramOperation = z.infer<typeof telegram.schema>
