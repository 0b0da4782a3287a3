import type { Reply } from '../protocol/index.ts'
import type { StatusEventReply } from './generated.ts'

/** A recipient's reply in a status event's words. */
export function replyOf({ datetime, message, media }: Reply): StatusEventReply {
  return {
    datetime: datetime ?? null,
    message: message ?? null,
    media: media
      ? { url: media.url ?? null, filename: media.filename ?? null, filesize: wholeBytes(media.filesize) }
      : null,
  }
}

// The longest that every Avro library writes exactly; an event that cannot be encoded would fail its neighbours too.
const MAX_FILE_SIZE = 2 ** 53 - 2

function wholeBytes(filesize: number | undefined): number | null {
  const whole = filesize !== undefined && Number.isInteger(filesize) && filesize >= 0 && filesize <= MAX_FILE_SIZE
  return whole ? Math.abs(filesize) : null // -0 is read back as 0
}
