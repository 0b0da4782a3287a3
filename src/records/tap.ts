/** busgate uses this of avsc, whose declarations leave it out (lib/utils.js and lib/types.js, 5.7.9). */

/** The cursor of avsc. Past the end it reads zeros. */
export interface Tap {
  buf: Buffer
  pos: number
  readLong(): number
  writeLong(value: number): void
  writeString(value: string): void
}

/** The types of avsc. */
export interface Codec {
  _read(tap: Tap): unknown
  _write(tap: Tap, value: unknown): void
}
