import { sendPayload } from './send-payload.ts'

/** The facts of a message that is sent to a phone, for its operation to begin with and to differ from where it does. */
export const messageFacts = {
  payload: sendPayload,
  hook: 'accepted',
  echoesId: true,
  readOnly: false,
  answer: 'message',
  hasStatus: true,
  alone: false,
  policy: null,
  urgent: false,
} as const
