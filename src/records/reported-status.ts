import { Echo } from '../protocol/echo.ts'
import { instantOf, pollStateOf } from '../protocol/index.ts'
import { readStatusAnswer } from '../protocol/status-answer.ts'
import { asObject, flagOrNull, numberOrNull, textOrNull } from '../protocol/tolerant.ts'
import { intOrNull, jsonOrNull, listOrNull, objectOrNull, unreadPart } from './fields.ts'
import type { StatusEvent, StatusEventReply, StatusEventReplyMedia } from './generated.ts'
import type { CommandFacts } from './status.ts'

/** What the gateway reports about a message, in a callback or a poll, as fields of a status event. */
export type ReportedStatus = Omit<
  StatusEvent,
  'id' | 'account' | 'source' | 'verified' | 'receivedAt' | 'type' | keyof CommandFacts | 'eventId'
> & { type: string | null }

/**
 * Reads a status, without what it repeats of the message. Never fails: fields that violate the specification stay in `extra`.
 * @param key of the account; empty if this process does not know it
 */
export function readStatus(body: Readonly<Record<string, unknown>>, key: string): ReportedStatus {
  return readClean(body, Echo.in(body, key))
}

/** Reads a successful answer to `status`, whose status text may stand anywhere. What is not understood stays in `extra`. */
export function readPolledStatus(content: unknown, key: string): ReportedStatus {
  const echo = Echo.in(content, key)
  const told = readClean(asObject(content), echo)
  const { text } = readStatusAnswer(content)
  if (text === '') return told
  const status = echo.value(text) as string
  return { ...told, status, ...pollStateOf(status, told.success) }
}

function readClean(body: Readonly<Fields>, echo: Echo): ReportedStatus {
  const text = (value: unknown) => echo.value(textOrNull(value)) as string | null
  const number = (value: unknown) => withoutEcho(numberOrNull(value), echo)
  const idText = (value: unknown) => echo.id(textOrNull(value))
  const read = {
    id: textOrNull(body.id), // echo of the command's id
    msg_id: idText(body.msg_id),
    type: text(body.type),
    status: text(body.status),
    success: flagOrNull(body.success),
    error: text(body.error),
    updated: instantOrNull(body.updated),
    reply: text(body.reply),
    duration: number(body.duration),
    request_id: idText(body.request_id),
    replies: listOrNull(body.replies, reply => readReply(reply, text, number)),
  }
  const { id: _, msg_id: msgId, updated: updatedAt, request_id: requestId, ...others } = read
  const status = read.status ?? ''
  const replies = read.replies ?? []
  const extra = jsonOrNull(unreadPart(body, read), echo.value)
  return { ...others, ...pollStateOf(status, read.success), msgId, status, updatedAt, requestId, replies, extra }
}

const instantOrNull = (value: unknown): number | null => (typeof value === 'string' ? instantOf(value) : null)

type Fields = Record<string, unknown>

type ReadText = (value: unknown) => string | null
/** Null for what repeats a phone. */
type ReadNumber = (value: unknown) => number | null

const withoutEcho = (number: number | null, echo: Echo) => (echo.value(number) === number ? number : null)

const readReply = ({ datetime, message, media }: Fields, text: ReadText, number: ReadNumber): StatusEventReply => ({
  datetime: text(datetime),
  message: text(message),
  media: objectOrNull(media, media => readMedia(media, text, number)),
})

const readMedia = ({ url, filename, filesize }: Fields, text: ReadText, number: ReadNumber): StatusEventReplyMedia => ({
  url: text(url),
  filename: text(filename),
  filesize: wholeBytes(number(filesize)),
})

function wholeBytes(value: unknown): number | null {
  const bytes = intOrNull(value)
  return bytes !== null && bytes >= 0 ? Math.abs(bytes) : null // Avro reads -0 back as 0
}
