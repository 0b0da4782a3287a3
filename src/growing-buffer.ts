const leastRoom = 1024

/**
 * Collects a body in one buffer that doubles when full. Separate chunks would cost up to 250 bytes each, so a body sent byte
 * by byte would take 250 times its size.
 */
export class GrowingBuffer {
  readonly #limit: number
  #room = Buffer.alloc(0)
  #length = 0

  /** @param limit in bytes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Memory in use, in bytes. */
  get capacity(): number {
    return this.#room.length
  }

  /** Appends the piece. @returns false if it would exceed the limit; nothing is copied then */
  add(piece: Uint8Array): boolean {
    const length = this.#length + piece.length
    if (length > this.#limit) return false
    if (length > this.#room.length) {
      // A slice of Node's pool would keep all 64 KiB of it alive.
      const grown = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(length, 2 * this.#room.length, leastRoom)))
      this.#room.copy(grown, 0, 0, this.#length)
      this.#room = grown
    }
    this.#room.set(piece, this.#length)
    this.#length = length
    return true
  }

  /** The bytes so far, as a view of the same memory. */
  bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }
}

/** Reads a stream as text. @throws Error if it is longer than `limit` bytes */
export async function readText(stream: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const body = new GrowingBuffer(limit)
  for await (const piece of stream) if (!body.add(piece)) throw new Error(`the answer is longer than ${limit} bytes`)
  return body.bytes().toString()
}
