import { z } from 'zod'
import { must } from './messages.ts'
import { answerObject, tolerantId, tolerantList, tolerantNumber, tolerantObject, tolerantText } from './tolerant.ts'

const reply = answerObject({
  datetime: tolerantText,
  message: tolerantText,
  media: tolerantObject(answerObject({ url: tolerantText, filename: tolerantText, filesize: tolerantNumber })),
})

/** A recipient's reply to a message (specification: Events). `datetime` is ISO 8601, `filesize` in bytes. */
export type Reply = z.infer<typeof reply>

export const replies = tolerantList(reply)

/**
 * Body of a delivery status callback (specification: Events), sent once a message has reached a final state. Only `success`
 * is required. `updated` is an ISO 8601 date-time, `duration` the length of a call in seconds, `reply` the digit that the
 * recipient pressed, `request_id` that of the asynchronous response. `type` may be any text: the specification's four values
 * omit channels that send callbacks too.
 */
export const callbackBody = answerObject({
  success: z.boolean({ error: must('true or false') }),
  id: tolerantId,
  msg_id: tolerantId,
  type: tolerantText,
  status: tolerantText,
  error: tolerantText,
  updated: tolerantText,
  reply: tolerantText,
  duration: tolerantNumber,
  request_id: tolerantText,
  replies,
})

/** A body that passed `callbackBody`. */
export type CallbackBody = z.infer<typeof callbackBody>

/** The answer of the asynchronous interface (specification: Asynchronous response); callbacks repeat `request_id`. */
export const asyncResponse = answerObject({
  success: z.boolean({ error: must('true or false') }),
  request_id: tolerantText,
  error: tolerantText,
})

/** An answer of the asynchronous interface: whether the request was queued, and its id. */
export type AsyncResponse = z.infer<typeof asyncResponse>
