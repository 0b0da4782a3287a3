import type { SendResult } from '../records/generated.ts'

/** Where a record is on a command topic. */
export interface CommandPlace {
  topic: string
  partition: number
  offset: number
}

/** A message, by its id. */
export interface MessageId {
  id: bigint | number
  /** Ids are unique within an account. Default: `default`. */
  account?: string
}

/** Among several commands with one id, a lower rank says more about whether the message was sent. */
const ranks: Readonly<Record<SendResult['outcome'], number>> = {
  SENT: 0,
  UNRESOLVED: 1,
  REJECTED: 2,
  EXPIRED: 3,
  INVALID: 4,
  UNKNOWN: 5,
  DUPLICATE: 6,
  IN_DOUBT: 7,
}

/**
 * Returns the final result of one command record, or of all commands with one id, from results in any order; null if there is
 * none yet. For an id, DUPLICATE does not count, because it says nothing about the message.
 * @param results null and undefined are skipped: nothing is stored yet
 * @throws TypeError if the id of a result is not a bigint, for example because it was stored as JSON
 */
export function finalOf(
  results: Iterable<SendResult | null | undefined>,
  of: CommandPlace | MessageId,
): SendResult | null {
  let found: SendResult | null = null
  for (const result of results) {
    if (!result?.final || !isAbout(result, of)) continue
    if (found === null || rank(result) < rank(found) || (rank(result) === rank(found) && isEarlier(result, found))) {
      found = result
    }
  }
  return found
}

function isAbout(result: SendResult, of: CommandPlace | MessageId): boolean {
  if ('topic' in of) {
    const { commandTopic, commandPartition, commandOffset } = result
    return commandTopic === of.topic && commandPartition === of.partition && commandOffset === of.offset
  }
  return isOfMessage(result, of) && result.outcome !== 'DUPLICATE'
}

/** Whether the result carries the id in this account; DUPLICATE too. @throws TypeError if its id is not a bigint */
export function isOfMessage(result: SendResult, { id, account = 'default' }: MessageId): boolean {
  if (typeof result.id !== 'bigint') {
    throw new TypeError(`the id of a result is a ${typeof result.id}, not a bigint: convert a stored id with BigInt`)
  }
  return result.id === BigInt(id) && result.account === account
}

const rank = ({ outcome }: SendResult) => ranks[outcome]

const isEarlier = (one: SendResult, other: SendResult) => one.completedAt < other.completedAt
