import fc from 'fast-check'
import { type OperationObject, type OperationType, operationTypes, parseJson } from '../../src/protocol/index.ts'

/** Any identifier that a message may have, beyond 2^53 as a bigint. */
export const anyId: fc.Arbitrary<number | bigint> = fc.oneof(
  fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  fc.bigInt(2n ** 53n, 2n ** 63n - 1n),
)

/** Any phone that the sandbox delivers to. */
const phone = fc.integer({ min: 10_000, max: 9_999_999_999_999 }).map(number => number * 100)

const text = fc.string({ unit: 'binary', maxLength: 300 })
const name = fc.stringMatching(/^[A-Za-z0-9._-]{3,11}$/)
const url = fc.webUrl()
const flag = fc.boolean()
const lifetime = (min: number, max = 10_000_000) => fc.integer({ min, max })

type Shape = Record<string, fc.Arbitrary<unknown>>

/** An object with all of the first fields and any of the second. */
const shaped = (required: Shape, optional: Shape = {}) =>
  fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) })

const addressed = { id: anyId, phone }
const sms = { sms_message: text, sms_signature: name }
const rcs = { rcs_message: text, rcs_signature: name, rcs_image: url, rcs_link: url, rcs_button: text }
const rcsOptions = { rcs_lifetime: lifetime(60), short_link: flag }
const slide = shaped({}, { caption: text, image: url, button: text, url, button2: text, url2: url })
const viber = {
  viber_type: fc.constantFrom('text', 'image', 'text+link', 'text+image+link', 'carousel'),
  viber_signature: name,
  viber_message: text,
  viber_image: url,
  viber_link: url,
  viber_button: text,
  viber_carousel: fc.array(slide, { minLength: 2, maxLength: 5 }),
}
const model = shaped({ gender: fc.constantFrom('male', 'female'), language: text, name: text })
const channel = fc.constantFrom('voice', 'telegram', 'viber', 'rcs', 'sms', 'whatsapp')
const stage = shaped({ message: text, signature: name })

const fields: Record<OperationType, fc.Arbitrary<object>> = {
  balance: fc.constant({}),
  sender: fc.constant({}),
  'template/list': fc.constant({}),
  'template/viber/list': fc.constant({}),
  status: shaped({ id: anyId }),
  hlr: shaped(addressed),
  'call/otp': shaped(addressed),
  sms: shaped(
    { ...addressed, ...sms },
    { sms_lifetime: lifetime(3600, 259_200), short_link: flag, unsubscribe_link: flag },
  ),
  telegram: shaped({ ...addressed, message: fc.stringMatching(/^[0-9]{4,8}$/) }, { telegram_lifetime: lifetime(60) }),
  voice: shaped(addressed, { message: text, voice: model, dtmf: flag }),
  rcs: shaped({ ...addressed, ...rcs }, rcsOptions),
  'rcs+sms': shaped({ ...addressed, ...rcs, ...sms }, rcsOptions),
  'rcs+viber+sms': shaped({ ...addressed, ...rcs, ...viber, ...sms }, rcsOptions),
  viber: shaped({ ...addressed, ...viber }, { viber_lifetime: lifetime(60), short_link: flag }),
  'viber+sms': shaped(addressed, { ...viber, ...sms, viber_lifetime: lifetime(60), short_link: flag }),
  pipeline: shaped(
    {
      ...addressed,
      pipeline: fc.uniqueArray(channel, { minLength: 1 }),
      sms: stage,
      rcs: stage,
      whatsapp: stage,
      telegram: shaped({ message: text }),
      viber: shaped({ message: text, signature: name, type: text }),
      voice: fc.oneof(model, shaped({ message: text, voice: model, dtmf: flag })),
    },
    {},
  ),
  'template/create': shaped({ template: text }, { name: text }),
  'template/delete': shaped({}, { id: text, template: text }),
  'template/viber/create': shaped({ template: text }, { signature: text }),
  'template/viber/delete': shaped({}, { id: fc.oneof(fc.integer(), fc.bigInt({ min: 2n ** 53n })), template: text }),
}

/** Makes values that JSON can carry there and back. */
const anyJson = fc.jsonValue().map(value => parseJson(JSON.stringify(value)))
const additional = fc.dictionary(
  fc.string({ maxLength: 5 }).map(key => `x-${key}`),
  anyJson,
  { maxKeys: 2 },
)

/** Any valid operation that the sandbox executes, with any additional properties. */
export const anyOperation: fc.Arbitrary<OperationObject> = fc
  .constantFrom(...operationTypes)
  .chain(type =>
    fc.tuple(fields[type], additional).map(([own, more]) => ({ ...more, ...own, type }) as OperationObject),
  )

const timestamp = fc.oneof(
  fc.constantFrom(-1, 0, 2 ** 53 - 1, 2 ** 53, 8.64e15, 1.78e15, 1.78e18, 2 ** 63, -(2 ** 63)),
  fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map(date => date.getTime()),
)
const headerName = fc.oneof(
  fc.constantFrom('constructor', 'toString', '__proto__', 'hasOwnProperty', 'length', '0', ''),
  fc.constantFrom('traceparent', 'tracestate', 'busgate.error.topic', 'busgate.error.offset', 'busgate.lifetime'),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const bytes = fc.uint8Array({ maxLength: 40 }).map(Buffer.from)
const headers = fc
  .array(fc.tuple(headerName, fc.oneof(bytes, fc.array(bytes, { maxLength: 300 }))), { maxLength: 10 })
  .map(pairs => Object.fromEntries(pairs))

/** A record that a producer may have written with any client; where its value is missing it is to be a command's. */
export const oddRecord = fc.record({
  timestamp,
  headers,
  key: fc.option(bytes),
  value: fc.option(bytes, { nil: undefined, freq: 3 }),
})
