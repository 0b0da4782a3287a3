import { createIdIndex, type Id } from './id-index.ts'

/** ExecutedMessage is what an account's executed message looks like from outside. */
export interface ExecutedMessage {
  msgId: number
  channel: string
  status: string
  /** When the message reaches its final state, milliseconds since 1970. */
  finalAt: number
}

/**
 * Executions says how often each identifier was executed (billed), and what became of its latest message. Columns
 * instead of objects: a million identifiers stay below 60 MB and out of the garbage collector's way.
 */
export interface Executions {
  add(id: Id | undefined, message: ExecutedMessage): void
  executionsOf(id: Id): number
  messageOf(id: Id): ExecutedMessage | undefined
  counts(): { executed: number; ids: number; billedTwice: number }
}

export function createExecutions(): Executions {
  const ids = createIdIndex()
  const words: string[] = []
  const wordIndex = new Map<string, number>()
  let columns = columnsOf(1024)
  let executed = 0
  let billedTwice = 0

  function indexOf(word: string): number {
    let index = wordIndex.get(word)
    if (index === undefined) {
      index = words.push(word) - 1
      wordIndex.set(word, index)
    }
    return index
  }

  function rowOf(id: Id): number {
    const row = ids.add(id)
    if (row === columns.executions.length) columns = columnsOf(2 * row, columns)
    return row
  }

  return {
    add(id, message) {
      executed++
      if (id === undefined) return
      const row = rowOf(id)
      columns.executions[row]!++
      if (columns.executions[row] === 2) billedTwice++
      columns.msgId[row] = message.msgId
      columns.channel[row] = indexOf(message.channel)
      columns.status[row] = indexOf(message.status)
      columns.finalAt[row] = message.finalAt
    },
    executionsOf(id) {
      const row = ids.find(id)
      return row === undefined ? 0 : columns.executions[row]!
    },
    messageOf(id) {
      const row = ids.find(id)
      if (row === undefined) return undefined
      return {
        msgId: columns.msgId[row]!,
        channel: words[columns.channel[row]!]!,
        status: words[columns.status[row]!]!,
        finalAt: columns.finalAt[row]!,
      }
    },
    counts: () => ({ executed, ids: ids.size(), billedTwice }),
  }
}

interface Columns {
  executions: Uint32Array
  msgId: Float64Array
  channel: Uint8Array
  status: Uint8Array
  finalAt: Float64Array
}

function columnsOf(size: number, from?: Columns): Columns {
  const to: Columns = {
    executions: new Uint32Array(size),
    msgId: new Float64Array(size),
    channel: new Uint8Array(size),
    status: new Uint8Array(size),
    finalAt: new Float64Array(size),
  }
  if (from) for (const name of Object.keys(to) as (keyof Columns)[]) to[name].set(from[name])
  return to
}
