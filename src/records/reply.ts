import type { Reply } from '../protocol/index.ts'
import type { StatusEventReply } from './generated.ts'
import { isLong } from './long.ts'

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

function wholeBytes(filesize: number | undefined): number | null {
  const whole = filesize !== undefined && isLong(filesize) && filesize >= 0
  return whole ? Math.abs(filesize) : null // -0 is read back as 0
}
