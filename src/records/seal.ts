import { CompactEncrypt } from 'jose/jwe/compact/encrypt'
import type { SealingKey } from '../config/index.ts'
import type { SendType } from '../protocol/index.ts'
import type { SendCommand } from './generated.ts'
import { encryption, namesOf, withSealed } from './sealed.ts'

/** Seals the content of a command, which is valid. */
export async function seal(value: SendCommand, type: SendType, { kid, alg, key }: SealingKey): Promise<SendCommand> {
  const [content] = Object.values(value.message)
  const jwe = await new CompactEncrypt(Buffer.from(JSON.stringify(content)))
    .setProtectedHeader({ alg, enc: encryption, kid, ...namesOf(value, type) })
    .encrypt(key)
  return withSealed(value, { type, jwe })
}
