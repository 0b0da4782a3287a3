import { createHmac, randomBytes } from 'node:crypto'

/** Random per process, so that nobody can choose accounts whose messages collide. */
const secret = randomBytes(32)
const salts = new Map<string, bigint>()
/** Bound of the salts that are kept: foreign records can name any number of accounts. */
const mostSalts = 1_000

/**
 * Names a message, by account and id, as a key of an `IdTable`. However many accounts there are, each message takes the same
 * memory: a table for each account would take a kilobyte. Two messages of different accounts have the same key with a probability of
 * 2^-63.
 */
export const messageKey = (account: string, id: bigint): bigint => id ^ saltOf(account) || 1n

function saltOf(account: string): bigint {
  const known = salts.get(account)
  if (known !== undefined) return known
  if (salts.size >= mostSalts) salts.clear()
  const salt = BigInt.asUintN(63, createHmac('sha256', secret).update(account).digest().readBigUInt64LE())
  salts.set(account, salt)
  return salt
}
