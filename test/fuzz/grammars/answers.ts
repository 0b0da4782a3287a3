import assert from 'node:assert/strict'
import fc from 'fast-check'
import { classify, type ItemAnswer } from '../../../src/gateway/classify.ts'
import { envelopeBody } from '../../../src/gateway/connection.ts'
import { outcomeOf } from '../../../src/gateway/outcome.ts'
import { Echo } from '../../../src/protocol/echo.ts'
import { type SendType, sendTypes } from '../../../src/protocol/index.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { SendResult } from '../../../src/records/generated.ts'
import { embeddedRegistry } from '../../../src/records/registry.ts'
import { createResultWriter, readPayload } from '../../../src/records/result.ts'
import { writeResultBytes } from '../../../src/records/result-bytes.ts'
import { schemas } from '../../../src/records/schemas.ts'
import { errorCodes } from '../../../src/vocabulary/lists.ts'
import { grammarOf } from '../grammar.ts'
import { bounded } from '../measure.ts'
import { damaged, jsonText } from './json-text.ts'

const key = 'zq7-key-that-nobody-may-see'
const text = 'zq7: your code for Шоп is 481516'
const phone = 380671112233
const secrets = [key, text, String(phone)]

const names = [
  'success',
  'error',
  'data',
  'id',
  'msg_id',
  'parts',
  'code',
  'price',
  'phone',
  'status',
  'imsi',
  'mccmnc',
  'network',
]
const echoes = [
  JSON.stringify(text),
  JSON.stringify(key),
  String(phone),
  JSON.stringify(encodeURIComponent(text)),
  JSON.stringify(`Not ${text} to ${phone}`),
]
const values = [
  '1',
  '"1"',
  '{"id":1,"msg_id":"m1","parts":1}',
  '"Not enough money"',
  '"Access denied"',
  '"0042"',
  ...echoes,
]
const anyJson = jsonText(names, values)

const error = fc.oneof(fc.constantFrom(...echoes), anyJson)
/** The usual answers, whose texts may be anything. `"ID"` stands for the operation's id. */
const usual = fc
  .tuple(error, error)
  .chain(([one, other]) =>
    fc.constantFrom(
      `{"id":"ID","msg_id":${one},"parts":1}`,
      `{"id":"ID","code":${one},"price":1,"note":${other}}`,
      `{"id":"ID","phone":1,"status":${one},"imsi":${other}}`,
      `{"id":"ID","phone":1,"network":{"origin":{"name":${one},"country":{"name":${other}}}}}`,
    ),
  )
const item = fc.oneof(
  { weight: 4, arbitrary: error.map(error => `{"success":false,"error":${error}}`) },
  { weight: 8, arbitrary: usual.map(data => `{"success":true,"data":${data}}`) },
  {
    weight: 4,
    arbitrary: fc.oneof(error, anyJson).map(data => `{"success":true,"data":{"msg_id":"m1","note":${data}}}`),
  },
  fc
    .tuple(fc.constantFrom('true', 'false', '1'), error, anyJson)
    .map(([success, error, data]) => `{"success":${success},"error":${error},"data":${data}}`),
  anyJson,
)
const inOrder = (items: string[]) => items.map((item, i) => item.replaceAll('"ID"', String(i + 1)))
const envelopeOf = (items: fc.Arbitrary<string[]>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom('true', 'true', 'true', 'false', '"true"'), error, items)
    .map(([success, error, items]) => `{"success":${success},"error":${error},"data":[${inOrder(items).join(',')}]}`)

/** Bodies of answers of the gateway to some operations, or of whatever stands in front of it. */
export const answerBody = (operations: number): fc.Arbitrary<string> => {
  const fitting = envelopeOf(fc.array(item, { minLength: operations, maxLength: operations }))
  return fc.oneof(
    { weight: 6, arbitrary: fitting },
    envelopeOf(fc.array(item, { maxLength: 3 })),
    fitting.chain(damaged),
    anyJson,
    fc.string({ unit: 'binary', maxLength: 100 }),
  )
}

const status = fc.oneof({ weight: 4, arbitrary: fc.constant(200) }, fc.integer({ min: 100, max: 599 }))
const types = fc.array(fc.constantFrom(...sendTypes), { minLength: 1, maxLength: 3 })
const answered = fc
  .tuple(types, status)
  .chain(([types, status]) => fc.tuple(fc.constant(types), fc.constant(status), answerBody(types.length)))

const registry = embeddedRegistry()
const encode = await createEncoder<SendResult>('any', schemas.result, registry, writeResultBytes)
const decoder = createDecoder<SendResult>(schemas.result, registry)
await decoder.prepare(await registry.idOf('any', schemas.result))
const write = createResultWriter({ topic: 'results', encode, now: () => 1_800_000_000_000, codes: 'result' })

const subjectOf = (type: SendType) => ({
  ...{ id: 1n, idText: '1', type, account: 'default', hooked: null, correlationId: null, tenant: null, campaign: null },
  ...{ country: null, trace: null },
})
const origin = {
  topic: 'commands',
  partition: 0,
  record: { offset: 0, key: null, value: null, headers: {}, timestamp: 0 },
}

/** The result of an operation, as bytes. */
function resultOf(type: SendType, answer: ItemAnswer, echo: Echo): Buffer | null {
  if (answer.kind === 'in_doubt') return null
  const details =
    answer.kind === 'sent'
      ? ({ outcome: 'SENT', attempts: 1, payload: readPayload(type, answer.data, echo) } as const)
      : ({ outcome: 'REJECTED', attempts: 1, errorCode: answer.code, error: answer.error } as const)
  return write(subjectOf(type), origin, details).value as Buffer
}

export const answers = grammarOf(
  'answers of the gateway, or of what stands in front of it',
  {
    'each operation ends as a result that can be read and repeats nothing of the request, or in doubt':
      fc.asyncProperty(answered, async ([types, status, body]) => {
        const operations = types.map((type, i) => JSON.stringify({ type, id: i + 1, phone, sms_message: text }))
        const request = envelopeBody(key, operations)
        const ids = types.map((_, i) => String(i + 1))
        const answer = { kind: 'response', request, status, body, retryAfterMs: null } as const
        const results = await bounded('judging an answer', () => {
          const classified = classify(ids, answer)
          if ('error' in classified) expectNone(classified.error)
          if ('code' in classified) assert.ok((errorCodes as readonly string[]).includes(classified.code))
          const outcome = outcomeOf(types, classified, { abortCause: null })
          if ('error' in outcome) expectNone(outcome.error.message)
          const items = 'items' in classified ? classified.items : []
          const echo = Echo.of(request)
          return items.map((item, i) => resultOf(types[i]!, item, echo))
        })
        for (const bytes of results) {
          if (bytes === null) continue
          const decoded = await decoder.decode(bytes)
          if (!decoded?.ok) throw new Error('a result cannot be read')
          const { error, payload, hlr } = decoded.value
          expectNone(`${error} ${payload} ${hlr?.status} ${JSON.stringify(hlr?.network)}`)
          assert.ok(!bytes.includes(key), 'the key is told')
          assert.ok((error?.length ?? 0) <= 1024)
          if (payload !== null) JSON.parse(payload)
        }
      }),
  },
  20,
)

function expectNone(told: string): void {
  for (const secret of secrets) assert.ok(!told.includes(secret), `${secret} is told`)
}
