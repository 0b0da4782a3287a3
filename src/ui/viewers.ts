import type { ServerResponse } from 'node:http'
import type { Board } from './board.ts'

/** Bytes that a browser may leave unread. Beyond, its connection is closed; the browser reconnects. */
const mostUnread = 1024 * 1024
/** States in a row that a browser may leave unread. */
const mostBehind = 15

/** Sends the state to all open pages as server-sent events. Each event is made once, however many pages there are. */
export class Viewers {
  readonly #board: Board
  /** Each page's number of states in a row at which something was unread. */
  readonly #behind = new Map<ServerResponse, number>()
  /** What a new page gets; null after a change of the state. */
  #beginning: string | null = null

  constructor(board: Board) {
    this.#board = board
    board.watch(now => {
      this.#beginning = null
      const text = eventText('now', now)
      for (const [response, behind] of this.#behind) this.#send(response, behind, text)
    })
  }

  /** @param response its head is written */
  add(response: ServerResponse): void {
    this.#beginning ??= eventText('history', this.#board.history()) + eventText('now', this.#board.now())
    response.write(this.#beginning)
    this.#behind.set(response, 0)
    response.on('close', () => this.#behind.delete(response))
  }

  #send(response: ServerResponse, behind: number, text: string): void {
    const next = response.writableLength > 0 ? behind + 1 : 0
    if (next > mostBehind || response.writableLength > mostUnread) return void response.destroy()
    this.#behind.set(response, next)
    response.write(text)
  }
}

const eventText = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
