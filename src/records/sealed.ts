import type { Type } from 'avsc'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactDecrypt } from 'jose/jwe/compact/decrypt'
import { CompactEncrypt } from 'jose/jwe/compact/encrypt'
import type { SealingAlgorithm, SealingKey } from '../config/index.ts'
import { isKid, kidExpected } from '../config/index.ts'
import { isSendType, type SendType } from '../protocol/index.ts'
import { cutTextComplaint, isCutText, isObject, pathToText } from '../protocol/json.ts'
import { avroTypeOf } from './avro.ts'
import type { Sealed, SendCommand } from './generated.ts'
import { contentRecordOf } from './new-command.ts'

const branch = 'io.busgate.Sealed'
const algorithms: readonly SealingAlgorithm[] = ['ECDH-ES', 'dir']
const encryption = 'A256GCM'
/** Most problems in one error text, since a sender can cause thousands. */
const mostProblems = 3

const withoutContent: readonly SendType[] = ['call/otp', 'hlr']

/** Whether messages of the type have content, which can be sealed. */
export const hasContent = (type: SendType): boolean => !withoutContent.includes(type)

/** The sealed content of a command; null if it is in the clear. */
export function sealedIn({ message }: SendCommand): Sealed | null {
  return (message as { [branch]?: Sealed })[branch] ?? null
}

/** The command with its content in the clear. */
export const withContent = (value: SendCommand, type: SendType, content: object): SendCommand => ({
  ...value,
  message: { [`io.busgate.${contentRecordOf(type).name}`]: content } as unknown as SendCommand['message'],
})

/** Which command a sealed content belongs to: it cannot be moved to another message, or to the phone of a stranger. */
function namesOf({ id, account, phone, hook }: SendCommand, type: string): Record<string, string> {
  return { id: id.toString(), account, phone: String(phone), type, ...(hook !== null && { hook }) }
}

/** Seals the content of a command, which is valid. */
export async function sealed(value: SendCommand, type: SendType, { kid, alg, key }: SealingKey): Promise<SendCommand> {
  const [content] = Object.values(value.message)
  const jwe = await new CompactEncrypt(Buffer.from(JSON.stringify(content)))
    .setProtectedHeader({ alg, enc: encryption, kid, ...namesOf(value, type) })
    .encrypt(key)
  return { ...value, message: { [branch]: { type, jwe } } as unknown as SendCommand['message'] }
}

/** Why content is invalid, without its characters. */
export interface SealFlaw {
  errorCode: 'SEAL' | 'VALIDATION'
  error: string
}

/** The command in the clear; or what is wrong; or the kid of the key that is missing. */
export type Opening = { command: SendCommand } | SealFlaw | { lacksKey: string }

const refused = (error: string): SealFlaw => ({ errorCode: 'SEAL', error })

/**
 * Opens the content of a command.
 * @param keyOf finds a key by its kid
 */
export async function open(
  value: SendCommand,
  { type, jwe }: Sealed,
  keyOf: (kid: string) => SealingKey | undefined,
): Promise<Opening> {
  if (!isSendType(type)) return refused('type must be a type of the gateway that this version knows')
  const header = headerOf(jwe)
  const flaw = header === null ? 'must be a JWE in compact serialization' : flawOf(header, namesOf(value, type))
  if (header === null || flaw !== null) return refused(`jwe ${flaw}`)
  const { kid, alg } = header as { kid: string; alg: string }
  const found = keyOf(kid)
  if (found === undefined) return { lacksKey: kid }
  if (found.alg !== alg) return refused(`jwe must have alg ${found.alg}, as its key ${kid} needs`)
  const text = await decrypted(jwe, found)
  return text === null ? refused(`jwe does not open with its key ${kid}`) : contentIn(text, value, type)
}

function headerOf(jwe: string): Record<string, unknown> | null {
  try {
    return decodeProtectedHeader(jwe)
  } catch {
    return null
  }
}

function flawOf(header: Record<string, unknown>, names: Record<string, string>): string | null {
  if (!isKid(header.kid)) return `must name its key in the protected header: kid, ${kidExpected}`
  if (!algorithms.some(alg => alg === header.alg)) return `must have alg ${algorithms.join(' or ')}`
  if (header.enc !== encryption) return `must have enc ${encryption}`
  for (const name of ['zip', 'crit']) if (name in header) return `must have no ${name}`
  const other = ['id', 'account', 'phone', 'type', 'hook'].find(name => header[name] !== names[name])
  return other === undefined ? null : `must have the command's ${other} in its protected header, as text`
}

/** @returns null if it does not open */
async function decrypted(jwe: string, { key, alg }: SealingKey): Promise<string | null> {
  try {
    const options = { keyManagementAlgorithms: [alg], contentEncryptionAlgorithms: [encryption] }
    const { plaintext } = await compactDecrypt(jwe, key, options)
    return new TextDecoder('utf-8', { fatal: true }).decode(plaintext)
  } catch {
    return null
  }
}

/** Reads the fields in a JSON text, which must fit their record as if they were on the topic in the clear. */
function contentIn(text: string, value: SendCommand, type: SendType): Opening {
  const content = jsonIn(text)
  const invalid = (error: string): SealFlaw => ({ errorCode: 'VALIDATION', error })
  if (!isObject(content)) return invalid('the sealed content must be a JSON object, without __proto__')
  const problems = problemsOf(content, type)
  if (problems.length > 0) return invalid(problems.slice(0, mostProblems).join('; '))
  const cut = pathToText(content, isCutText)
  return cut ? invalid(`${cut.join('.')} ${cutTextComplaint}`) : { command: withContent(value, type, content) }
}

/** avsc's check does not see this name, and an assignment of it would change the object. */
function withoutPrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new SyntaxError('not a field')
  return value
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text, withoutPrototype)
  } catch {
    return undefined // also of a text that is nested too deep
  }
}

/** Names fields of the record alone: any other name is a part of the content. */
function problemsOf(content: object, type: SendType): string[] {
  const found: string[] = []
  const options = {
    noUndeclaredFields: true,
    errorHook: (path: readonly string[], _value: unknown, expected: Type) => {
      const field = path.length === 0 ? 'the sealed content' : path.join('.')
      found.push(`${field} must ${kindOf(expected)}`)
    },
  }
  avroTypeOf(contentRecordOf(type)).isValid(content, options)
  return found
}

function kindOf(type: Type): string {
  const { fields } = type as { fields?: readonly { name: string }[] }
  return fields ? `have these fields only: ${fields.map(({ name }) => name).join(', ')}` : `be of type ${type}`
}
