import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Bytes of a body that are parsed at a time. What is behind its end is found to be too early after no more. */
const parsedAtOnce = 4096
const endOfHead = Buffer.from('\r\n\r\n')

/**
 * Guards the connections of an HTTP server. Each carries one request at a time: one that says more before it is answered is
 * closed. At the limit, the connection that has not finished a request for longest makes room, so slow
 * senders keep nobody out, however many they are and wherever they come from; one that has carried a callback goes last.
 */
export class Connections {
  readonly #most: number
  readonly #onTooMany: () => void
  readonly #all = new Set<Socket>()
  /** Connections without a whole request, the longest waiting first. */
  readonly #waiting = new Set<Socket>()
  readonly #waitingAgain = new Set<Socket>()
  /** The request of a connection that is not answered yet. */
  readonly #requests = new WeakMap<object, IncomingMessage>()

  /**
   * @param server one that does not listen yet
   * @param most connections at a time
   * @param onTooMany called for each connection that is closed because there are more
   */
  constructor(server: Server, most: number, onTooMany: () => void) {
    this.#most = most
    this.#onTooMany = onTooMany
    server.prependListener('connection', (socket: Socket) => this.#enter(socket))
    server.on('connection', (socket: Socket) => this.#parseInPieces(socket))
  }

  /** To be called with each request. False: it came too early, and its connection is closed. */
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

  /** Node's server parses all that one read brings, thousands of requests. Here it is given one head at a time. */
  #parseInPieces(socket: Socket): void {
    const [parse] = socket.listeners('data')
    if (parse === undefined) return
    socket.on('data', (piece: Buffer) => {
      for (let at = 0; at < piece.length && !socket.destroyed; ) {
        const request = this.#requests.get(socket)
        // Who reads no answers makes the server pause; it would fail if it were given more.
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

/** Where the head that begins here ends, or the piece. */
function headEnd(piece: Buffer, start: number): number {
  const end = piece.indexOf(endOfHead, start)
  return end === -1 ? piece.length : end + endOfHead.length
}

const firstOf = <T>(set: ReadonlySet<T>): T | undefined => set.values().next().value
