import type { Forgotten } from '../port.ts'
import { NEW, type OffsetState, Window, windowSize } from './window.ts'

/**
 * The window as text in the metadata of the committed offset (a broker allows 4,096 UTF-16 units):
 * `version;tag;seq;bits;uncheckedUntil;intentsSince;base;forgotten;memo;told`. `tag` names the process that wrote it. `seq` counts its
 * commits. `bits` has two bits per offset from the base on, least significant first, in base64. `base` is the committed
 * offset; if it differs, a tool has moved the metadata. A version that does not know a field ignores it.
 */
export interface Checkpoint {
  tag: string
  seq: number
  window: Window
  /**
   * New records below this offset may have been answered before, because a window was missing when the log ended here. 0 if
   * windows are complete.
   */
  uncheckedUntil: number
  /** Earliest time at which a POST of its intents and doubts can have begun, milliseconds since 1970; 0 if unknown. */
  intentsSince: number
  /** Null if the windows of all earlier owners are known, and all records; written as `until`, or `until!` if `owned`. */
  forgotten: Forgotten | null
  /** What the owner of the records has left to the next one, as `Session.remember` explains; null if that is not known. */
  memo: string | null
  /** Lost offsets, without `to`, that are reported and for which the window had no room; null if there are none. */
  told: { from: number; to: number } | null
}

const version = '1'

interface Fields {
  tag: string
  seq: number
  bits: Buffer
  uncheckedUntil: number
  intentsSince: number
  base: string
  forgotten: Forgotten | null
  memo: string | null
  told: Checkpoint['told']
}

/** Encodes the metadata to commit with the offset `window.base`. */
export function packCheckpoint({
  tag,
  seq,
  window,
  uncheckedUntil,
  intentsSince,
  forgotten,
  memo,
  told,
}: Checkpoint): string {
  const bits = Buffer.alloc(Math.ceil(window.length / 4))
  for (let i = 0; i < window.length; i++) {
    const state = window.get(window.base + i)
    if (state !== NEW) bits[i >> 2]! |= state << ((i & 3) * 2)
  }
  const unchecked = uncheckedUntil > window.base ? uncheckedUntil : 0
  const fields = [version, tag, seq, bits.toString('base64'), unchecked, intentsSince, window.base]
  const until = forgotten ? `${forgotten.until}${forgotten.owned ? '!' : ''}` : ''
  if (told && told.to > window.base) fields.push(until, memo ?? '', `${told.from}-${told.to}`)
  else if (memo !== null) fields.push(until, memo)
  else if (forgotten) fields.push(until)
  return fields.join(';')
}

/**
 * Decodes the checkpoint at `base`. Without metadata (another program used the group, or an offset was reset by hand;
 * undefined: nobody has committed), nothing is known of the offsets from the base to `end`, the end of the log.
 * @throws Error when another program, a newer busgate or another offset wrote the metadata
 */
export function unpackCheckpoint(base: number, metadata: string | null | undefined, end = base): Checkpoint {
  const window = new Window(base)
  if (!metadata) {
    const forgotten = { until: end, owned: metadata !== undefined }
    return { tag: '', seq: 0, window, uncheckedUntil: end, intentsSince: 0, forgotten, memo: null, told: null }
  }
  const [foundVersion = ''] = metadata.split(';', 1)
  if (/^\d+;/.test(metadata) && Number(foundVersion) > Number(version)) {
    throw new Error(
      `the checkpoint at offset ${base} was written by a newer busgate (version ${foundVersion.slice(0, 9)}, this ` +
        `one reads ${version}): go back to the newer busgate; do not reset the offset, or what it has sent may be sent again`,
    )
  }
  const fields = fieldsOf(metadata, base)
  if (fields === null) {
    throw new Error(
      `the committed offset ${base} carries metadata that busgate did not write ("${metadata.slice(0, 20)}"); ` +
        'use another kafka.groupId for the worker, or reset the offset',
    )
  }
  if (fields.base !== String(base)) {
    throw new Error(
      `the committed offset ${base} carries the checkpoint of offset ${fields.base}: another tool copied it ` +
        'with its metadata, as MirrorMaker 2 does with sync.group.offsets, but it describes other records. Stop the workers ' +
        'and reset the offset without metadata: docs/delivery.md, "When the progress is reset", says what is known then',
    )
  }
  const { bits, base: _, ...known } = fields
  for (let i = 0; i < bits.length * 4; i++) {
    const state = ((bits[i >> 2]! >> ((i & 3) * 2)) & 3) as OffsetState
    if (state !== NEW) window.set(base + i, state)
  }
  return { ...known, window }
}

/** What is not known if an owner's records or intents below this offset are lost, too. */
export const forgetTo = (offset: number, { forgotten }: Pick<Checkpoint, 'forgotten'>): Forgotten => ({
  until: Math.max(forgotten?.until ?? 0, offset),
  owned: true,
})

/** A whole number as `packCheckpoint` writes it. */
const isWritten = (text: string): boolean => /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))

/** The fields of this version's metadata; null if busgate cannot have written it. */
function fieldsOf(metadata: string, at: number): Fields | null {
  const fields = metadata.split(';', 10)
  const [found, tag = '', seq = '', bits = '-', unchecked = '0', since = '0', base = String(at), ...others] = fields
  const [forgotten = '', memo = '', told = ''] = others
  const bytes = Buffer.from(bits, 'base64')
  const owned = forgotten.endsWith('!')
  const toldParts = told.split('-')
  const [from = 0, to = 0] = toldParts.map(Number)
  const until = owned ? forgotten.slice(0, -1) : forgotten
  const isOurs =
    found === version &&
    /^.{1,64}$/s.test(tag) &&
    [seq, unchecked, since, base, until || '0'].every(isWritten) &&
    bytes.toString('base64') === bits &&
    bytes.length <= windowSize / 4 &&
    (memo === '' || isMemo(memo)) &&
    (told === '' || (toldParts.length === 2 && toldParts.every(isWritten)))
  if (!isOurs) return null
  const numbers = { seq: Number(seq), uncheckedUntil: Number(unchecked), intentsSince: Number(since) }
  return {
    tag,
    ...numbers,
    bits: bytes,
    base,
    forgotten: until === '' ? null : { until: Number(until), owned },
    memo: memo || null,
    told: told === '' ? null : { from, to },
  }
}

/** Whether the text fits a checkpoint. */
export const isMemo = (text: string): boolean => /^[\w:.-]{1,64}$/.test(text)
