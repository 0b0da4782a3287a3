import type { Type } from 'avsc'
import { decodeProtectedHeader } from 'jose/decode/protected_header'
import { compactDecrypt } from 'jose/jwe/compact/decrypt'
import { isKid, kidExpected, type SealingAlgorithm, type SealingKey } from '../config/index.ts'
import { isSendType, type SendType } from '../protocol/index.ts'
import { cutTextComplaint, isCutText, isObject, pathToText } from '../protocol/json.ts'
import { avroTypeOf } from './avro.ts'
import type { Sealed, SendCommand } from './generated.ts'
import { contentRecordOf } from './new-command.ts'
import { encryption, namesOf, withContent } from './sealed.ts'

const algorithms: readonly SealingAlgorithm[] = ['ECDH-ES', 'dir']
/** Most problems in one error text, since a sender can cause thousands. */
const mostProblems = 3

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
  if (!isObject(content))
    return invalid('the sealed content must be a JSON object, without names that all objects have, such as __proto__')
  const problems = problemsOf(content, type)
  if (problems.length > 0) return invalid(problems.slice(0, mostProblems).join('; '))
  const cut = pathToText(content, isCutText)
  return cut ? invalid(`${cut.join('.')} ${cutTextComplaint}`) : { command: withContent(value, type, content) }
}

/** avsc's check takes such a name for a field, and an assignment of `__proto__` would change the object. */
function withoutPrototype(name: string, value: unknown): unknown {
  if (name in Object.prototype) throw new SyntaxError('not a field')
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
