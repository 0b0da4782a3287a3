import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Bytes of a body that are parsed at a time; a pipelined request is detected within this many bytes. */
const parsedAtOnce = 4096
const endOfHead = Buffer.from('\r\n\r\n')

export interface ConnectionLimits {
  /** Most connections at a time. */
  connections: number
  /** Whether a connection whose answer is being made may be closed for a new one. Default false. */
  closesBusy?: boolean
  /** Called for each connection that is closed because of the limit. */
  onOverload?: () => void
}

/**
 * Guards the connections of an HTTP server that does not listen yet. Each carries one request at a time; a connection that
 * pipelines is closed. At the limit, the connection that has gone longest without completing a request is closed, so that slow
 * senders cannot keep others out. Connections that have carried a request are closed later, and those that do not read their
 * answer after them. One whose answer is being made is closed last, or never.
 * @returns a function to call for each request; false if it was pipelined, and its connection is closed
 */
export function guardConnections(server: Server, { connections, closesBusy = false, onOverload }: ConnectionLimits) {
  const all = new Set<Socket>()
  /** Connections without a complete request, oldest first. */
  const waiting = new Set<Socket>()
  const waitingAgain = new Set<Socket>()
  /** Connections whose complete answer is not read yet. */
  const unread = new Set<Socket>()
  const requests = new WeakMap<Socket, IncomingMessage>()

  function enter(socket: Socket): void {
    if (all.size >= connections) {
      const longest =
        firstOf(waiting) ?? firstOf(waitingAgain) ?? firstOf(unread) ?? (closesBusy ? firstOf(all)! : socket)
      leave(longest)
      longest.destroy()
      onOverload?.()
      if (longest === socket) return
    }
    all.add(socket)
    waiting.add(socket)
    socket.on('close', () => leave(socket))
  }

  function leave(socket: Socket): void {
    all.delete(socket)
    forget(socket)
  }

  function forget(socket: Socket): void {
    waiting.delete(socket)
    waitingAgain.delete(socket)
    unread.delete(socket)
  }

  server.prependListener('connection', enter)
  server.on('connection', socket => parseInPieces(socket, requests))
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { socket } = request
    if (requests.has(socket)) {
      socket.destroy()
      return false
    }
    requests.set(socket, request)
    const completed = () => waiting.delete(socket) || waitingAgain.delete(socket)
    if (hasBody(request)) request.on('end', completed)
    else completed()
    response.on('prefinish', () => unread.add(socket))
    response.on('close', () => {
      requests.delete(socket)
      forget(socket)
      if (!socket.destroyed) waitingAgain.add(socket)
    })
    return true
  }
}

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0

/**
 * Passes Node's parser one request head at a time; it would otherwise parse everything that one read brings, which may be
 * thousands of requests.
 */
function parseInPieces(socket: Socket, requests: WeakMap<Socket, IncomingMessage>): void {
  const [parse] = socket.listeners('data')
  if (parse === undefined) return
  socket.on('data', (piece: Buffer) => {
    for (let at = 0; at < piece.length && !socket.destroyed; ) {
      const request = requests.get(socket)
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

/** End of the request head that begins here, or of the piece. */
function headEnd(piece: Buffer, start: number): number {
  const end = piece.indexOf(endOfHead, start)
  return end === -1 ? piece.length : end + endOfHead.length
}

const firstOf = <T>(set: ReadonlySet<T>): T | undefined => set.values().next().value
