/** A caller's identifier: a number up to 2^53, a bigint above. */
export type Id = number | bigint

/** ExecutedMessage is what an account's executed message looks like from outside. */
export interface ExecutedMessage {
  msgId: number
  channel: string
  status: string
  /** When the message reaches its final state, milliseconds since 1970. */
  finalAt: number
}

/** Executions says how often each identifier was executed (billed), and what became of its latest message. */
export interface Executions {
  add(id: Id | undefined, message: ExecutedMessage): void
  executionsOf(id: Id): number
  messageOf(id: Id): ExecutedMessage | undefined
  counts(): { executed: number; ids: number; billedTwice: number }
}

export function createExecutions(): Executions {
  const byId = new Map<Id, { times: number; message: ExecutedMessage }>()
  let executed = 0
  let billedTwice = 0
  return {
    add(id, message) {
      executed++
      if (id === undefined) return
      const times = (byId.get(id)?.times ?? 0) + 1
      if (times === 2) billedTwice++
      byId.set(id, { times, message })
    },
    executionsOf: id => byId.get(id)?.times ?? 0,
    messageOf: id => byId.get(id)?.message,
    counts: () => ({ executed, ids: byId.size, billedTwice }),
  }
}
