import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Bytes of a body that are parsed at a time; a pipelined request is detected within this many bytes. */
const parsedAtOnce = 4096
const endOfHead = Buffer.from('\r\n\r\n')

/**
 * Guards the connections of an HTTP server. Each carries one request at a time; a connection that pipelines is closed. At the
 * limit, the connection that has gone longest without completing a request is closed, so that slow senders cannot keep others
 * out. Connections that have carried a callback are closed last.
 */
export class Connections {
  readonly #most: number
  readonly #onTooMany: () => void
  readonly #all = new Set<Socket>()
  /** Connections without a complete request, oldest first. */
  readonly #waiting = new Set<Socket>()
  readonly #waitingAgain = new Set<Socket>()
  readonly #requests = new WeakMap<object, IncomingMessage>()

  /**
   * @param server must not listen yet
   * @param most connections at a time
   * @param onTooMany called for each connection closed because of the limit
   */
  constructor(server: Server, most: number, onTooMany: () => void) {
    this.#most = most
    this.#onTooMany = onTooMany
    server.prependListener('connection', (socket: Socket) => this.#enter(socket))
    server.on('connection', (socket: Socket) => this.#parseInPieces(socket))
  }

  /** Call it for each request. @returns false if the request was pipelined; its connection is closed then */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    if (this.#requests.has(socket)) {
      socket.destroy()
      return false
    }
    this.#requests.set(socket, request)
    request.on('end', () => this.#forget(socket))
    response.on('close', () => {
      this.#requests.delete(socket)
      this.#forget(socket)
      if (!socket.destroyed) this.#waitingAgain.add(socket)
    })
    return true
  }

  #enter(socket: Socket): void {
    if (this.#all.size >= this.#most) {
      const longest = firstOf(this.#waiting) ?? firstOf(this.#waitingAgain) ?? socket
      this.#leave(longest)
      longest.destroy()
      this.#onTooMany()
      if (longest === socket) return
    }
    this.#all.add(socket)
    this.#waiting.add(socket)
    socket.on('close', () => this.#leave(socket))
  }

  #leave(socket: Socket): void {
    this.#all.delete(socket)
    this.#forget(socket)
  }

  #forget(socket: Socket): void {
    this.#waiting.delete(socket)
    this.#waitingAgain.delete(socket)
  }

  /**
   * Passes Node's parser one request head at a time; it would otherwise parse everything that one read brings, which may be
   * thousands of requests.
   */
  #parseInPieces(socket: Socket): void {
    const [parse] = socket.listeners('data')
    if (parse === undefined) return
    socket.on('data', (piece: Buffer) => {
      for (let at = 0; at < piece.length && !socket.destroyed; ) {
        const request = this.#requests.get(socket)
        // The server pauses a connection that does not read its answers, and would fail if it got more.
        if (request?.complete || socket.isPaused()) {
          socket.destroy()
          return
        }
        const next = request === undefined ? headEnd(piece, at) : at + parsedAtOnce
        parse.call(socket, piece.subarray(at, next))
        at = next
      }
    })
    socket.removeListener('data', parse as (piece: Buffer) => void)
  }
}

/** End of the request head that begins here, or of the piece. */
function headEnd(piece: Buffer, start: number): number {
  const end = piece.indexOf(endOfHead, start)
  return end === -1 ? piece.length : end + endOfHead.length
}

const firstOf = <T>(set: ReadonlySet<T>): T | undefined => set.values().next().value
