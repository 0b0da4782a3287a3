import { readSealingKeys, type SealingKey } from '../../src/config/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { hasContent } from '../../src/records/sealed.ts'
import { Opener } from '../../src/worker/intake/opener.ts'
import { buildCommandOf } from '../support/commands.ts'
import { seal, sealingKey } from '../support/sealing.ts'
import { phoneOf } from './commands.ts'
import { type CommandPlan, type KeyPlan, type Kid, kids, type Plan } from './plan.ts'

/** Workers read a new file of keys at most so many milliseconds after it was written. */
export const keysLagMs = 1000

const kinds = ['X25519', 'P-256', 'secret'] as const
const pairs = new Map<string, ReturnType<typeof sealingKey>>(
  kids.map((kid, i) => [kid, sealingKey(kid, kinds[i % kinds.length])]),
)
const keys: ReadonlyMap<string, SealingKey> = new Map(
  readSealingKeys({ keys: [...pairs.values()].map(({ own }) => own) }, 'open').map(key => [key.kid, key]),
)

/** The keys that a file has at a time, in virtual milliseconds. */
export const keysAt = (plans: readonly KeyPlan[], now: number): SealingKey[] =>
  plans.filter(({ from, until }) => from <= now && now < until).map(({ kid }) => keys.get(kid)!)

/** Seals the content of commands before the world begins: afterwards no time may pass but its own. */
export async function sealContents({ commands }: Plan): Promise<Map<number, SendCommand['message']>> {
  const messages = new Map<number, SendCommand['message']>()
  for (const [i, command] of commands.entries()) {
    if (command.kid !== null) messages.set(phoneOf(i), await sealContent(command, phoneOf(i), command.kid))
  }
  return messages
}

/** Content that was moved is sealed for another phone. */
async function sealContent({ kind, id, type, account }: CommandPlan, phone: number, kid: Kid) {
  const sealedFor = kind === 'moved' ? phone + 1_000_000 : phone
  const value = buildCommandOf(type, {
    ...{ id: BigInt(id), phone: sealedFor },
    account: kind === 'unknown account' ? 'Unknown' : account,
  })
  return (await seal(value, pairs.get(kid)!.shared, type)).message
}

export const isSealable = ({ kind, type }: CommandPlan): boolean => hasContent(type) && kind !== 'garbage'

/**
 * What threads of Web Crypto do takes no virtual time, and happens in the order in which it was asked for: the same seed
 * gives the same events.
 */
const openAll = Opener.prototype.openAll
let opened: Promise<unknown> | null = null

Opener.prototype.openAll = function (topic, records) {
  const before = opened
  const own = (async () => {
    await before
    return openAll.call(this, topic, records)
  })()
  opened = own
  return own
}

/** Resolves when all that was asked for is open; null if nothing is. */
export function takeOpened(): Promise<unknown> | null {
  const taken = opened
  opened = null
  return taken
}
