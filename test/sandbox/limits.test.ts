import { expect, test } from 'vitest'
import { operation, post, postOne, sandboxFor } from './support.ts'

const slides = (count: number) => ({
  viber_type: 'carousel',
  viber_carousel: Array.from({ length: count }, () => ({ caption: 'A' })),
})

/** The lines of the specification's table Limits: what is within, what is beyond, and how that is refused. */
const limits = [
  ['sms_lifetime', 'sms', '3600 to 259200 seconds', lifetimes('sms_lifetime', [3600, 259_200], [3599, 259_201])],
  ['rcs_lifetime', 'rcs', 'minimum 60 seconds', lifetimes('rcs_lifetime', [60, 259_201], [59, 0])],
  ['rcs_lifetime', 'rcs+sms', 'minimum 60 seconds', lifetimes('rcs_lifetime', [60, 259_201], [59, 0])],
  ['rcs_lifetime', 'rcs+viber+sms', 'minimum 60 seconds', lifetimes('rcs_lifetime', [60, 259_201], [59, 0])],
  ['telegram_lifetime', 'telegram', 'minimum 60 seconds', lifetimes('telegram_lifetime', [60, 259_201], [59, 0])],
  ['message', 'telegram', '4 to 8 digits', { within: texts('0421', '12345678'), beyond: texts('042', '123456789') }],
  ['viber_carousel', 'viber', '2 to 5 slides', { within: [slides(2), slides(5)], beyond: [slides(1), slides(6)] }],
  [
    'viber_carousel',
    'rcs+viber+sms',
    '2 to 5 slides',
    { within: [slides(2), slides(5)], beyond: [slides(1), slides(6)] },
  ],
  [
    'pipeline',
    'pipeline',
    'values may not repeat',
    { within: [{ pipeline: ['sms', 'viber'] }], beyond: [{ pipeline: ['sms', 'viber', 'sms'] }] },
  ],
] as const

test.each(limits)('limit of %s, %s: %s', async (field, type, _, { within, beyond }) => {
  const sandbox = await sandboxFor()
  for (const change of within) {
    expect(await postOne(sandbox, operation(type, change))).toMatchObject({ success: true })
  }
  for (const change of beyond) {
    expect(await postOne(sandbox, operation(type, change))).toMatchObject({
      success: false,
      error: `Error in ${field}`,
    })
  }
  expect(sandbox.stats().executed).toBe(within.length)
})

test('limit of data, every request: at least 1', async () => {
  const sandbox = await sandboxFor()
  expect(await post(sandbox, [operation('sms')])).toMatchObject({ success: true })
  expect(await post(sandbox, [])).toMatchObject({ success: false, error: expect.stringContaining('at least 1') })
})

function lifetimes(field: string, within: number[], beyond: number[]) {
  const change = (seconds: number) => ({ [field]: seconds })
  return { within: within.map(change), beyond: beyond.map(change) }
}

function texts(...messages: string[]) {
  return messages.map(message => ({ message }))
}
