import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { Purse } from './senders.ts'

export interface TurnstileOptions {
  /** Asked before bytes are kept that have to wait; where there is no room for them, the connection is closed. */
  reserve: (bytes: number) => boolean
  release: (bytes: number) => void
  /** Pays for a head of which the end has not come. */
  heads: Purse
  /** How long, and for how many bytes, a connection that was ended here is read on, so that its sender lives to read. */
  lingerMs: number
  lingerBytes: number
}

const endOfHead = Buffer.from('\r\n\r\n')
/** What a byte of a head takes that the HTTP server keeps until its end, as measured. */
const bytesOfHead = 2
const pieceBytes = 4096

/**
 * Stands between a connection and Node's HTTP server, which parses as many requests as it is given at once: each of them
 * costs kilobytes, and a sender can write two thousand into one read. Through a turnstile one request passes at a time;
 * what comes behind it waits, at first here and then at its sender, until it is answered.
 */
export class Turnstile extends Duplex {
  readonly #socket: Socket
  readonly #options: TurnstileOptions
  /** Bytes that have arrived and may not pass yet. */
  #waiting: Buffer | null = null
  #reserved = 0
  /** What is reserved for a head of which the end has not come. */
  #reservedForHead = 0
  /** The last request that passed, until it is both complete and answered. */
  #request: IncomingMessage | null = null
  #isAnswered = false
  /**
   * How many bytes of the request's body are still to come; null: nobody can tell, since its head did not end where it
   * was looked for.
   */
  #bodyLeft: number | null = null
  /** Whether the last head passed alone, without any of its body. */
  #isHeadWhole = false
  #isWanted = false
  #isPassing = false
  #hasEnded = false

  constructor(socket: Socket, options: TurnstileOptions) {
    super({ readableHighWaterMark: pieceBytes })
    this.#socket = socket
    this.#options = options
    socket.on('data', piece => this.#take(piece))
    socket.on('end', () => {
      this.#hasEnded = true
      this.#pass()
    })
    socket.on('timeout', () => this.emit('timeout'))
    socket.on('error', error => this.destroy(error))
    socket.on('close', () => this.destroy())
    this.on('resume', () => this.#pass())
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress
  }

  /** The HTTP server takes this for a socket, and sets its time-out. */
  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms)
    return this
  }

  /** To be called with each request of this connection, as soon as its head is there. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request
    this.#releaseHead()
    this.#isAnswered = false
    this.#bodyLeft = this.#isHeadWhole ? bodyLength(request) : null
    response.on('close', () => {
      if (this.#request !== request) return
      this.#isAnswered = true
      this.#pass()
    })
  }

  override _read(): void {
    this.#isWanted = true
    // What is pushed from here would be handed over later, and so not be parsed when it was looked at.
    queueMicrotask(() => this.#pass())
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, encoding, done)
  }

  /** A socket that is closed with unread bytes takes the answer from its sender: it is read on for a while. */
  override _final(done: () => void): void {
    const { lingerMs, lingerBytes } = this.#options
    let left = lingerBytes
    let isFlushed = false
    const close = () => {
      if (isFlushed && this.#hasEnded) this.destroy()
    }
    this.#drop()
    this.#socket.removeAllListeners('data').on('end', close)
    this.#socket.on('data', piece => {
      left -= piece.length
      if (left < 0) this.destroy()
    })
    const late = setTimeout(() => this.destroy(), lingerMs)
    this.on('close', () => clearTimeout(late))
    this.#socket.resume().end(() => {
      isFlushed = true
      done()
      close()
    })
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#drop()
    this.#socket.destroy()
    done(error)
  }

  #take(piece: Buffer): void {
    this.#waiting = this.#waiting === null ? piece : Buffer.concat([this.#waiting, piece])
    this.#pass()
  }

  /** Lets pass what may, in the order in which it came. */
  #pass(): void {
    if (this.#isPassing || this.destroyed || this.writableEnded) return
    this.#isPassing = true
    while (this.#waiting !== null && this.#isOpen()) {
      const waiting = this.#waiting
      const isHead = this.#request === null
      const length = isHead ? this.#headLength(waiting) : this.#bodyLength(waiting)
      if (isHead && !this.#isHeadWhole && !this.#reserveForHead(bytesOfHead * length)) {
        this.destroy()
        break
      }
      this.#waiting = length < waiting.length ? waiting.subarray(length) : null
      this.#isWanted = this.push(waiting.subarray(0, length))
      // What the HTTP server answers by itself is answered in a moment.
      if (isHead && this.#isHeadWhole && this.#request === null) {
        setImmediate(() => this.#pass())
        break
      }
    }
    this.#isPassing = false
    this.#settle()
  }

  #isOpen(): boolean {
    if (this.#request?.complete && this.#isAnswered) this.#request = null
    return this.#isWanted && this.readableFlowing === true && !this.writableEnded && !this.#request?.complete
  }

  /** Up to the end of the next head, or all of it where none ends here. */
  #headLength(waiting: Buffer): number {
    const end = waiting.indexOf(endOfHead)
    this.#isHeadWhole = end !== -1
    return end === -1 ? waiting.length : end + endOfHead.length
  }

  #bodyLength(waiting: Buffer): number {
    const length = Math.min(this.#bodyLeft || pieceBytes, pieceBytes, waiting.length)
    if (this.#bodyLeft !== null) this.#bodyLeft -= length
    return length
  }

  /** Reads on, or waits with what has to wait. */
  #settle(): void {
    if (this.destroyed || this.writableEnded) return
    const needed = this.#waiting?.length ?? 0
    if (needed === 0) this.#release()
    else if (needed > this.#reserved) {
      if (!this.#options.reserve(needed - this.#reserved)) {
        this.destroy()
        return
      }
      this.#reserved = needed
    }
    if (this.#waiting !== null) this.#socket.pause()
    else if (!this.#hasEnded) this.#socket.resume()
    else if (!this.#request?.complete) this.push(null)
  }

  #reserveForHead(bytes: number): boolean {
    if (!this.#options.heads.reserve(bytes)) return false
    this.#reservedForHead += bytes
    return true
  }

  #releaseHead(): void {
    if (this.#reservedForHead > 0) this.#options.heads.release(this.#reservedForHead)
    this.#reservedForHead = 0
  }

  #drop(): void {
    this.#waiting = null
    this.#release()
    this.#releaseHead()
  }

  #release(): void {
    if (this.#reserved > 0) this.#options.release(this.#reserved)
    this.#reserved = 0
  }
}

/** Null: the head does not say it. */
function bodyLength({ headers }: IncomingMessage): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  return Number(headers['content-length'] ?? 0)
}
