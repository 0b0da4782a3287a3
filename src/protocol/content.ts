import type { SendType } from './registry.ts'

const viber = ['viber_message', 'viber_image', 'viber_link', 'viber_carousel']
const rcs = ['rcs_message', 'rcs_image', 'rcs_link']
const sms = ['sms_message']

/** The fields of which any one gives a message something to tell; none where the type needs no content. */
const contents: Readonly<Record<Exclude<SendType, 'pipeline'>, readonly string[]>> = {
  sms,
  viber,
  'viber+sms': [...viber, ...sms],
  rcs,
  'rcs+sms': [...rcs, ...sms],
  'rcs+viber+sms': [...rcs, ...viber, ...sms],
  telegram: ['message'],
  voice: ['message'],
  'call/otp': [],
  hlr: [],
}

const stageContent = ['message', 'image', 'link', 'carousel']

type Operation = Readonly<Record<string, unknown>>

/**
 * The name of the field by which a message without any content would have some; null: it has. The interface does not
 * require it of every type, but whoever fills in no field of a record most likely meant another one.
 * @param operation an operation object that its type's schema has passed
 */
export function missingContent(type: SendType, operation: Operation): string | null {
  if (type === 'pipeline') return missingInStages(operation)
  const names = contents[type]
  if (names.length === 0 || names.some(name => isFilled(operation[name]))) return null
  const wanted = operation.viber_type === 'image' ? 'viber_image' : 'viber_message'
  return names.filter(name => name === wanted || (name.endsWith('message') && !name.startsWith('viber'))).join(' or ')
}

function missingInStages(operation: Operation): string | null {
  const channels = operation.pipeline as string[]
  const empty = channels.find(channel => isEmptyStage(channel, (operation[channel] ?? {}) as Operation))
  return empty === undefined ? null : `${empty}.message`
}

/** Whether a stage tells nothing. One of the two shapes that the interface shows of voice has no text. */
function isEmptyStage(channel: string, stage: Operation): boolean {
  const isWithoutText = channel === 'voice' && stage.voice === undefined
  return !isWithoutText && !stageContent.some(name => isFilled(stage[name]))
}

const isFilled = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))
