import { addressed, operationObject } from '../fields.ts'
import { messageFacts, noContent } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'
import {
  answerObject,
  openPayload,
  tolerantFlag,
  tolerantId,
  tolerantNumber,
  tolerantObject,
  tolerantText,
} from '../tolerant.ts'

const network = tolerantObject(
  answerObject({
    name: tolerantText,
    prefix: tolerantNumber,
    country: tolerantObject(answerObject({ name: tolerantText, prefix: tolerantNumber })),
  }),
)

/**
 * Validity, operator and porting of a number, without notifying its subscriber. `mccmnc` is the country and network code.
 * `imsi`, the subscriber's identity, is kept as it came, because as text it may begin with a zero. Specification: hlr and
 * call/otp; HLR result payload.
 */
export const hlr = {
  ...messageFacts,
  schema: operationObject('hlr', addressed),
  payload: openPayload({
    phone: tolerantNumber,
    status: tolerantText,
    imsi: tolerantId,
    mccmnc: tolerantNumber,
    ported: tolerantFlag,
    network: tolerantObject(answerObject({ origin: network, ported: network })),
  }),
  section: 'hlr and call/otp',
  hook: 'none',
  record: 'Hlr',
  channels: ['hlr'],
  missingContent: noContent,
  answer: 'lookup',
  hasStatus: false,
  // a lost answer loses the facts, which cannot be polled
  policy: 'AT_MOST_ONCE',
} as const satisfies SendOperation
