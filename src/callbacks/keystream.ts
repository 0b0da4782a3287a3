import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto'

const algorithm = 'aes-256-ctr'
const blockBytes = 16
const nonceBytes = 10
/** What tells where in a keystream a message begins: the nonce of the stream, and the number of its first block. */
export const placeBytes = nonceBytes + 2
/** Blocks that are made at once. Each is used once, and their numbers fit into two bytes. */
const usualBlocks = 1024

/**
 * Encrypts short messages with AES-256-CTR. Node.js takes longer to begin a cipher than for a thousand blocks, so that one cipher
 * makes the keystream of many messages.
 */
export class Keystream {
  readonly #key: KeyObject
  readonly #nonce = Buffer.alloc(nonceBytes)
  #bytes = Buffer.alloc(0)
  /** The first unused block. */
  #block = 0

  constructor(key: KeyObject) {
    this.#key = key
  }

  /** Writes the place at `start`, and encrypts in place what follows it up to `end`. */
  encrypt(message: Buffer, start: number, end: number): void {
    const from = start + placeBytes
    const blocks = Math.max(1, Math.ceil((end - from) / blockBytes))
    if ((this.#block + blocks) * blockBytes > this.#bytes.length) this.#renew(blocks)
    message.set(this.#nonce, start)
    message.writeUInt16BE(this.#block, start + nonceBytes)
    let at = this.#block * blockBytes
    for (let i = from; i < end; i++) message[i]! ^= this.#bytes[at++]!
    this.#block += blocks
  }

  /** @param sealed a place, and what was encrypted there */
  decrypt(sealed: Buffer): Buffer {
    const iv = ivOf(sealed.subarray(0, nonceBytes), sealed.readUInt16BE(nonceBytes))
    return createDecipheriv(algorithm, this.#key, iv).update(sealed.subarray(placeBytes))
  }

  #renew(blocks: number): void {
    randomFillSync(this.#nonce)
    const zeros = Buffer.alloc(Math.max(usualBlocks, blocks) * blockBytes)
    this.#bytes = createCipheriv(algorithm, this.#key, ivOf(this.#nonce, 0)).update(zeros)
    this.#block = 0
  }
}

function ivOf(nonce: Buffer, block: number): Buffer {
  const iv = Buffer.alloc(blockBytes)
  iv.set(nonce)
  iv.writeUInt16BE(block, blockBytes - 2)
  return iv
}
