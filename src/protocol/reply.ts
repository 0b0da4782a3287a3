import { z } from 'zod'
import { tolerantList, tolerantNumber, tolerantObject, tolerantText } from './tolerant.ts'

/** A recipient's reply to a message (specification: Events). `datetime` is ISO 8601, `filesize` in bytes. */
const reply = z.looseObject({
  datetime: tolerantText,
  message: tolerantText,
  media: tolerantObject(z.looseObject({ url: tolerantText, filename: tolerantText, filesize: tolerantNumber })),
})

export type Reply = z.infer<typeof reply>

export const replies = tolerantList(reply)
