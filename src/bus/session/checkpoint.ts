import { NEW, type OffsetState, Window, windowSize } from './window.ts'

/**
 * The checkpoint: the window as text, kept in the metadata of the committed offset (a broker allows 4,096 UTF-16 units).
 * `version;tag;seq;bits;uncheckedUntil;intentsSince;base`: the tag names the process that wrote it, seq counts its commits,
 * bits are two for each offset from the base on, least significant first, in base64. The base is the committed offset
 * itself: where it is another one, the metadata was moved. Versions that do not know a field read the others.
 */
export interface Checkpoint {
  tag: string
  seq: number
  window: Window
  /**
   * A window was missing when the log ended here: what is new below this offset may have been answered before.
   * 0: the windows tell all.
   */
  uncheckedUntil: number
  /** No POST of its intents and doubts can have begun before, milliseconds since 1970. 0: unknown. */
  intentsSince: number
}

const version = '1'

/** The packed text to commit beside the offset `window.base`. */
export function packCheckpoint({ tag, seq, window, uncheckedUntil, intentsSince }: Checkpoint): string {
  const bits = Buffer.alloc(Math.ceil(window.length / 4))
  for (let i = 0; i < window.length; i++) {
    const state = window.get(window.base + i)
    if (state !== NEW) bits[i >> 2]! |= state << ((i & 3) * 2)
  }
  const unchecked = uncheckedUntil > window.base ? uncheckedUntil : 0
  return [version, tag, seq, bits.toString('base64'), unchecked, intentsSince, window.base].join(';')
}

/**
 * Reads what an owner left at `base`. Without metadata (a group that another program used before, or a reset by hand)
 * nothing is known of what is between the base and `end`, the end of the log.
 * @throws Error when the metadata was written by something else, by a newer busgate, or for another offset.
 */
export function unpackCheckpoint(base: number, metadata: string | null | undefined, end = base): Checkpoint {
  const window = new Window(base)
  if (!metadata) return { tag: '', seq: 0, window, uncheckedUntil: end, intentsSince: 0 }
  const [foundVersion = '', tag = '', seq = '', bits = '', unchecked = '0', since = '0', writtenFor = String(base)] =
    metadata.split(';')
  if (/^\d+;/.test(metadata) && Number(foundVersion) > Number(version)) {
    throw new Error(
      `the checkpoint at offset ${base} was written by a newer busgate (version ${foundVersion.slice(0, 9)}, this ` +
        `one reads ${version}): go back to the newer busgate; do not reset the offset, or what it has sent may be sent again`,
    )
  }
  if (foundVersion !== version || !/^\d+$/.test(seq)) {
    throw new Error(
      `the committed offset ${base} carries metadata that busgate did not write ("${metadata.slice(0, 20)}"); ` +
        'use another kafka.groupId for the worker, or reset the offset',
    )
  }
  if (writtenFor !== String(base)) {
    throw new Error(
      `the committed offset ${base} carries the checkpoint of offset ${writtenFor.slice(0, 16)}: another tool copied it ` +
        'with its metadata, as MirrorMaker 2 does with sync.group.offsets, but it describes other records. Stop the workers ' +
        'and reset the offset without metadata: docs/delivery.md, "When the progress is reset", says what is known then',
    )
  }
  const packed = Buffer.from(bits, 'base64')
  const length = Math.min(packed.length * 4, windowSize)
  for (let i = 0; i < length; i++) {
    const state = ((packed[i >> 2]! >> ((i & 3) * 2)) & 3) as OffsetState
    if (state !== NEW) window.set(base + i, state)
  }
  return { tag, seq: Number(seq), window, uncheckedUntil: Number(unchecked), intentsSince: Number(since) }
}
