const leastRoom = 1024

/**
 * Collects a body in one buffer, which doubles as it fills. Pieces that are kept apart cost up to 250 bytes each, so a body
 * that is sent byte by byte would take 250 times its size.
 */
export class GrowingBuffer {
  readonly #limit: number
  #room = Buffer.alloc(0)
  #length = 0

  /** @param limit the most bytes that it takes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** The memory that it takes, in bytes. */
  get capacity(): number {
    return this.#room.length
  }

  /** Copies the piece. False: there would be more than the limit, and nothing was copied. */
  add(piece: Uint8Array): boolean {
    const length = this.#length + piece.length
    if (length > this.#limit) return false
    if (length > this.#room.length) {
      // A share of Node's pool would keep all of its 64 KiB.
      const grown = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(length, 2 * this.#room.length, leastRoom)))
      this.#room.copy(grown, 0, 0, this.#length)
      this.#room = grown
    }
    this.#room.set(piece, this.#length)
    this.#length = length
    return true
  }

  /** The bytes so far; they share its memory. */
  bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }
}

/** Reads a stream of at most `limit` bytes as text. @throws Error when there are more */
export async function readText(stream: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const body = new GrowingBuffer(limit)
  for await (const piece of stream) if (!body.add(piece)) throw new Error(`the answer is longer than ${limit} bytes`)
  return body.bytes().toString()
}
