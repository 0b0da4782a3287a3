import type { SendType } from '../protocol/index.ts'
import type { Sealed, SendCommand } from './generated.ts'
import { contentRecordOf } from './new-command.ts'

/** How content is encrypted. */
export const encryption = 'A256GCM'
const branch = 'io.busgate.Sealed'

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
export function namesOf({ id, account, phone, hook }: SendCommand, type: string): Record<string, string> {
  return { id: id.toString(), account, phone: String(phone), type, ...(hook !== null && { hook }) }
}

/** The command with sealed content. */
export const withSealed = (value: SendCommand, sealed: Sealed): SendCommand => ({
  ...value,
  message: { [branch]: sealed } as unknown as SendCommand['message'],
})
