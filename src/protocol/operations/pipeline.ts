import { z } from 'zod'
import { addressed, dtmf, hook, object, operationObject, text, voiceModelFields } from '../fields.ts'
import { expecting, must } from '../messages.ts'
import type { Operation } from '../operation.ts'
import { sendPayload } from '../send-payload.ts'
import { viberTypeMeaning } from '../viber.ts'

const channels = ['voice', 'telegram', 'viber', 'rcs', 'sms', 'whatsapp'] as const

const channelList = expecting(`a list of at least one of ${channels.join(', ')}, none of them twice`, error =>
  z
    .array(z.enum(channels, { error: must(`one of ${channels.join(', ')}`) }), { error })
    .min(1, { error })
    .refine(list => new Set(list).size === list.length, { error, abort: true }),
)

const message = text.describe('Text of the message.')
const signature = text.describe('Sender signature of the message.')

const stage = <S extends z.ZodRawShape>(channel: string, fields: S) =>
  object(fields).describe(`What is sent by ${channel}; required when \`pipeline\` names it.`)

/** The table has the model's fields in the object itself, the example in a nested `voice`: both are accepted. */
const voiceObject = expecting(
  'an object with gender (male or female), language and name, in itself or in a nested voice',
  error =>
    z.union(
      [
        z.looseObject(voiceModelFields),
        z.looseObject({
          message: message.optional(),
          voice: object(voiceModelFields).describe('The voice that speaks.'),
          dtmf: dtmf.optional(),
        }),
      ],
      { error },
    ),
).describe('What is spoken by voice; required when `pipeline` names it.')

/**
 * Tries channels in the order of `pipeline`. The contract lists the objects of all channels but rcs as required and the
 * example carries all; here each is required when `pipeline` names its channel, and may be there when it does not.
 * `id` is required in one variant of the contract only, so it may be left out. `hook` is accepted but not kept: the
 * status goes to the address in the account's settings. The fields of `whatsapp` are not validated by the gateway: a
 * message without a signature is charged.
 * Specification: pipeline.
 */
export const pipeline = {
  schema: operationObject('pipeline', {
    id: addressed.id.optional(),
    phone: addressed.phone,
    pipeline: channelList.describe('The channels, in the order in which they are tried.'),
    hook: hook.optional(),
    sms: stage('sms', { message, signature }).optional(),
    telegram: stage('telegram', { message }).optional(),
    viber: stage('viber', { message, signature, type: text.describe(viberTypeMeaning) }).optional(),
    voice: voiceObject.optional(),
    whatsapp: stage('whatsapp', { message: message.optional(), signature: signature.optional() }).optional(),
    rcs: stage('rcs', { message: message.optional(), signature: signature.optional() })
      .describe('What is sent by rcs.')
      .optional(),
  }).check(({ value, issues }) => {
    for (const channel of value.pipeline) {
      if (channel === 'rcs' || value[channel] !== undefined) continue
      const message = `${channel} is required when pipeline names it`
      issues.push({ code: 'custom', path: [channel], input: undefined, message })
    }
  }),
  payload: sendPayload,
  section: 'pipeline',
  hook: 'not kept',
} satisfies Operation

export type PipelineOperation = z.infer<typeof pipeline.schema>
