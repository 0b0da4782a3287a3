import { z } from 'zod'
import { must } from './messages.ts'
import { tolerantText } from './tolerant.ts'

/** Path of the one address for requests, below the gateway's base address. */
export const apiPath = '/api/json.php'

/** For JSON Schema: an address that already contains the path that is appended to it. */
export const apiPathPattern = '/[Jj][Ss][Oo][Nn]\\.[Pp][Hh][Pp]/*$'

export const endsWithApiPath = (url: string): boolean => new RegExp(apiPathPattern).test(url)

const success = z.boolean({ error: must('true or false') })

/**
 * Body of a request (specification: Request envelope): the account's API key and at least one operation. Checks the envelope
 * only; `operations` has the schema of each operation.
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

/** A request: the API key and its operations. */
export type RequestEnvelope = z.infer<typeof requestEnvelope>

/**
 * Result of one operation (specification: Response item). `data` is the payload, which depends on the type; in a failed item
 * it holds only the caller's `id`.
 */
export const responseItem = z.looseObject(
  { success, error: tolerantText, data: z.unknown().optional() },
  { error: must('an object') },
)

/** The result of one operation. */
export type ResponseItem = z.infer<typeof responseItem>

/**
 * Body of a response (specification: Response envelope), always with HTTP status 200: one item for each operation, in the
 * order of the request. If `success` is false, the whole envelope was refused, and `error` says why.
 */
export const responseEnvelope = z.looseObject(
  { success, error: tolerantText, data: z.array(responseItem, { error: must('a list of items') }).nullish() },
  { error: must('an object') },
)

/** A response: an item for each operation, or the refusal of all. */
export type ResponseEnvelope = z.infer<typeof responseEnvelope>
