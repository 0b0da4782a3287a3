import { describe, expect, test } from 'vitest'
import { requestEnvelope, responseEnvelope } from '../../src/protocol/index.ts'
import { buildOperation } from '../support/operations.ts'

describe('a request', () => {
  const request = { auth: 'key', data: [buildOperation('sms'), { type: 'whatsapp' }] }

  test('contains a key and operations of any type, which their own schemas validate', () => {
    expect(requestEnvelope.parse(request)).toEqual(request)
  })

  test.each([
    [{ auth: undefined }, "auth is required and must be text: the account's API key"],
    [{ auth: 5 }, "auth must be text: the account's API key"],
    [{ data: {} }, 'data must be a list of at least one operation'],
    [{ data: [{}] }, 'data[0].type is required and must be text: the type of the operation'],
    [{ data: ['sms'] }, 'data[0] must be an object'],
  ])('with %o is refused: %s', (override, message) => {
    expect(requestEnvelope.safeParse({ ...request, ...override }).error?.issues).toEqual([
      expect.objectContaining({ message }),
    ])
  })
})

describe('a response', () => {
  test('has an item for each operation', () => {
    const response = {
      success: true,
      data: [
        { success: true, data: { id: 1, msg_id: '7' } },
        { success: false, error: 'Error in Alpha-name', data: { id: 2 } },
        { success: true, data: [] },
        { success: true },
      ],
    }
    expect(responseEnvelope.parse(response)).toEqual(response)
  })

  test('may have null as error and data', () => {
    expect(responseEnvelope.parse({ success: true, error: null, data: [{ success: true, error: null }] })).toEqual({
      success: true,
      data: [{ success: true }],
    })
    expect(responseEnvelope.parse({ success: false, error: 'Access denied', data: null }).success).toBe(false)
  })

  test.each([{}, { success: 1 }, { success: true, data: {} }, { success: true, data: [{}] }, [], null, 'Bad gateway'])(
    'is not %o',
    value => {
      expect(responseEnvelope.safeParse(value).success).toBe(false)
    },
  )
})
