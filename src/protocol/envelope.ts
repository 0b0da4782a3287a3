import { z } from 'zod'
import { must } from './messages.ts'
import { tolerantText } from './tolerant.ts'

const success = z.boolean({ error: must('true or false') })

/**
 * The body of a request (specification: Request envelope): the account's API key and at least one operation.
 * Checks the envelope; each operation is checked with the schema of its own type.
 */
export const requestEnvelope = z.looseObject(
  {
    auth: z.string({ error: must("text: the account's API key") }),
    data: z
      .array(
        z.looseObject(
          { type: z.string({ error: must('text: the type of the operation') }) },
          { error: must('an object') },
        ),
        { error: must('a list of at least one operation') },
      )
      .min(1, { error: must('a list of at least one operation') }),
  },
  { error: must('an object') },
)

/** One request: the API key and its operations. */
export type RequestEnvelope = z.infer<typeof requestEnvelope>

/**
 * The result of one operation (specification: Response item). `data` is the payload and depends on the type; of a
 * failed item it holds the caller's `id` only.
 */
export const responseItem = z.looseObject(
  { success, error: tolerantText, data: z.unknown().optional() },
  { error: must('an object') },
)

/** The result of one operation. */
export type ResponseItem = z.infer<typeof responseItem>

/**
 * The body of a response (specification: Response envelope): always with HTTP status 200, one item an operation in the
 * order of the request. When `success` is false the whole envelope was refused, `error` says why.
 */
export const responseEnvelope = z.looseObject(
  { success, error: tolerantText, data: z.array(responseItem, { error: must('a list of items') }).nullish() },
  { error: must('an object') },
)

/** One response: an item for each operation, or the refusal of all. */
export type ResponseEnvelope = z.infer<typeof responseEnvelope>

/** The answer of the asynchronous interface (specification: Asynchronous response); callbacks repeat `request_id`. */
export const asyncResponse = z.looseObject(
  { success, request_id: tolerantText, error: tolerantText },
  { error: must('an object') },
)

/** What the asynchronous interface answers: whether the request is queued, and its id. */
export type AsyncResponse = z.infer<typeof asyncResponse>
