import { z } from 'zod'
import { addressed, flag, hook, operationObject, text, voiceModelFields } from '../fields.ts'
import { must } from '../messages.ts'
import type { Operation } from '../operation.ts'
import { sendPayload } from '../send-payload.ts'

const channels = ['voice', 'telegram', 'viber', 'rcs', 'sms', 'whatsapp'] as const

const channelList = must(`a list of at least one of ${channels.join(', ')}, none of them twice`)

const channelObject = <S extends z.ZodRawShape>(fields: S) =>
  z.looseObject(fields, { error: must('an object') }).optional()

/** The table has the model's fields in the object itself, the example in a nested `voice`: both are accepted. */
const voiceObject = z
  .union(
    [
      z.looseObject(voiceModelFields),
      z.looseObject({
        message: text.optional(),
        voice: z.looseObject(voiceModelFields, { error: must('an object') }),
        dtmf: flag.optional(),
      }),
    ],
    { error: must('an object with gender (male or female), language and name, in itself or in a nested voice') },
  )
  .optional()

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
    pipeline: z
      .array(z.enum(channels, { error: must(`one of ${channels.join(', ')}`) }), { error: channelList })
      .min(1, { error: channelList })
      .refine(list => new Set(list).size === list.length, { error: channelList, abort: true }),
    hook: hook.optional(),
    sms: channelObject({ message: text, signature: text }),
    telegram: channelObject({ message: text }),
    viber: channelObject({ message: text, signature: text, type: text }),
    voice: voiceObject,
    whatsapp: channelObject({ message: text.optional(), signature: text.optional() }),
    rcs: channelObject({ message: text.optional(), signature: text.optional() }),
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
