import { z } from 'zod'
import { addressed, hook, lifetime, operationObject } from '../fields.ts'
import { contentIn, messageFacts } from '../message-facts.ts'
import { expecting } from '../messages.ts'
import type { SendOperation } from '../operation.ts'

const password = expecting('text of 4 to 8 digits', error => z.string({ error }).regex(/^\d{4,8}$/, { error }))

/**
 * A one-time password over Telegram: `message` has 4 to 8 digits. `telegram_lifetime` in seconds, at least 60, default
 * 172800. Specification: telegram (one-time password only).
 */
export const telegram = {
  ...messageFacts,
  schema: operationObject('telegram', {
    ...addressed,
    message: password.describe('The one-time password.'),
    hook: hook.optional(),
    telegram_lifetime: lifetime(60).optional(),
  }),
  section: 'telegram (one-time password only)',
  record: 'Telegram',
  channels: ['telegram'],
  missingContent: contentIn('message'),
  // a repeated password costs a log-in
  policy: 'AT_MOST_ONCE',
  urgent: true,
} as const satisfies SendOperation
