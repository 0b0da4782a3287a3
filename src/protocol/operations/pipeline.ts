import { z } from 'zod'
import { addressed, dtmf, hook, object, operationObject, text, voiceModelFields } from '../fields.ts'
import { isFilled, messageFacts } from '../message-facts.ts'
import { expecting, must } from '../messages.ts'
import type { MissingContent, SendOperation } from '../operation.ts'
import { viberTypeMeaning } from '../viber.ts'

const channels = ['voice', 'telegram', 'viber', 'rcs', 'sms', 'whatsapp'] as const

const channelList = expecting(`a list of at least one of ${channels.join(', ')}, none of them twice`, error =>
  z
    .array(z.enum(channels, { error: must(`one of ${channels.join(', ')}`) }), { error })
    .min(1, { error })
    .refine(list => new Set(list).size === list.length, { error, abort: true }),
)

const stageText = text.describe('Text of the message.')
const signature = text.describe('Sender signature of the message.')

/** An unvalidated field, as in the gateway; keeps its description. */
const unchecked = (field: z.ZodType) => z.unknown().optional().meta(field.meta()!)

const stage = <S extends z.ZodRawShape>(channel: string, fields: S) =>
  object(fields).describe(`What is sent by ${channel}; required when \`pipeline\` names it.`)

const voiceModel = object(voiceModelFields)

/**
 * The specification's table has the model's fields in the object itself, its example in a nested `voice`; both are accepted.
 */
const voiceObject = expecting(
  'an object with gender (male or female), language and name, in itself or in a nested voice',
  error =>
    z
      .looseObject(
        {
          message: stageText.optional(),
          ...voiceModel.partial().shape,
          voice: voiceModel.describe('The voice that speaks.').optional(),
          dtmf: dtmf.optional(),
        },
        { error },
      )
      .refine(value => value.voice !== undefined || voiceModel.safeParse(value).success, { error }),
).describe('What is spoken by voice; required when `pipeline` names it.')

type Fields = Readonly<Record<string, unknown>>

const stageContentNames = ['message', 'image', 'link', 'carousel']

const missingInStages: MissingContent = operation => {
  const listed = operation.pipeline as string[]
  const empty = listed.find(channel => isEmptyStage(channel, (operation[channel] ?? {}) as Fields))
  return empty === undefined ? null : `${empty}.message`
}

/** Whether a stage has no content. WhatsApp's stage is not validated, and one of the two shapes of voice has no text. */
function isEmptyStage(channel: string, stage: Fields): boolean {
  const isWithoutText = channel === 'whatsapp' || (channel === 'voice' && stage.voice === undefined)
  return !isWithoutText && !stageContentNames.some(name => isFilled(stage[name]))
}

/**
 * Tries channels in the order of `pipeline`. The specification lists the objects of all channels but rcs as required, and its
 * example has all of them; here an object is required only if `pipeline` names its channel. `id` is required in only one
 * variant of the specification, so it is optional. `hook` is accepted but not kept: the status goes to the address in the
 * account's settings. The fields of `whatsapp` are validated neither here nor by the gateway: a message without a signature
 * is charged. Specification: pipeline.
 */
export const pipeline = {
  ...messageFacts,
  schema: operationObject('pipeline', {
    id: addressed.id.optional(),
    phone: addressed.phone,
    pipeline: channelList.describe('The channels, in the order in which they are tried.'),
    hook: hook.optional(),
    sms: stage('sms', { message: stageText, signature }).optional(),
    telegram: stage('telegram', { message: stageText }).optional(),
    viber: stage('viber', { message: stageText, signature, type: text.describe(viberTypeMeaning) }).optional(),
    voice: voiceObject.optional(),
    whatsapp: stage('whatsapp', { message: unchecked(stageText), signature: unchecked(signature) }).optional(),
    rcs: stage('rcs', { message: stageText.optional(), signature: signature.optional() })
      .describe('What is sent by rcs.')
      .optional(),
  }).check(({ value, issues }) => {
    for (const channel of value.pipeline) {
      if (channel === 'rcs' || value[channel] !== undefined) continue
      const message = `${channel} is required when pipeline names it`
      issues.push({ code: 'custom', path: [channel], input: undefined, message })
    }
  }),
  section: 'pipeline',
  hook: 'not kept',
  record: 'Pipeline',
  channels: null,
  missingContent: missingInStages,
} as const satisfies SendOperation
