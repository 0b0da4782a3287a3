import { isUtf8 } from 'node:buffer'
import type { Settings } from '../../config/index.ts'
import { parseQuietly } from '../../protocol/json.ts'
import { createDecoder } from '../../records/decoder.ts'
import { registryOf } from '../../records/open.ts'
import { schemas } from '../../records/schemas.ts'
import { decodeAll } from '../scan.ts'
import type { FullLetter } from './letter.ts'

/** LetterContent is what a dead letter holds, ready to be printed as JSON. */
export interface LetterContent {
  bytes: number
  /** null: it can still not be decoded, or there is no value. */
  decoded: unknown
  /** Why it cannot be decoded. */
  error: string | null
}

/** Fields that hold no text, phone or address of anybody. Everything else is shown only where that is asked for. */
const harmless = new Set([
  ...['id', 'type', 'account', 'deadline', 'delivery', 'correlationId', 'tenant', 'campaign'],
  ...['msg_id', 'request_id', 'success', 'status', 'updated_at', 'duration'],
  ...['topic', 'partition', 'offset', 'timestamp', 'attempts', 'postedAt', 'postedSince'],
])
const hidden = '***'

/** Decodes with what is known by now: a schema may have been registered since. */
export async function contentOf(letter: FullLetter, settings: Settings): Promise<LetterContent> {
  const { value } = letter.record
  if (value === null) return { bytes: 0, decoded: null, error: 'it has no value' }
  const bytes = value.length
  try {
    return { bytes, decoded: await decode(letter, value, settings), error: null }
  } catch (error) {
    return { bytes, decoded: null, error: (error as Error).message }
  }
}

async function decode({ stage, origin, record }: FullLetter, value: Buffer, settings: Settings): Promise<unknown> {
  if (stage === 'callback') return parseQuietly(value.toString(), 'it is not JSON')
  const schema = origin?.topic === settings.topics.doubts ? schemas.doubt : schemas.command
  const [decoded] = await decodeAll(createDecoder<unknown>(schema, registryOf(settings)), [record])
  if (decoded?.ok) return decoded.value
  throw new Error(decoded && 'error' in decoded ? decoded.error.message : 'its schema is not known')
}

/** A copy to be printed: bytes in base64, and *** for what could be personal unless everything is to be revealed. */
export function shown(value: unknown, reveal: boolean, name = ''): unknown {
  if (Array.isArray(value)) return value.map(item => shown(item, reveal, name))
  if (value !== null && typeof value === 'object' && !Buffer.isBuffer(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, shown(child, reveal, key)]))
  }
  if (value !== null && !reveal && !harmless.has(name)) return hidden
  return Buffer.isBuffer(value) ? value.toString('base64') : value
}

/** The bytes themselves, for a value that cannot be decoded. */
export function rawOf(value: Buffer | null): { text: string } | { base64: string } | null {
  if (value === null) return null
  return isUtf8(value) ? { text: value.toString() } : { base64: value.toString('base64') }
}
