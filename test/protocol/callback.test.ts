import { describe, expect, test } from 'vitest'
import { asyncResponse, callbackBody } from '../../src/protocol/index.ts'

const body = {
  success: true,
  id: '1001',
  msg_id: '77',
  type: 'voice',
  status: 'DELIVERED',
  error: '',
  updated: '2025-01-31T12:00:00+02:00',
  reply: '5',
  duration: 12.5,
  request_id: 'r-1',
  replies: [
    {
      datetime: '2025-01-31T12:00:00+02:00',
      message: 'Thanks',
      media: { url: 'https://shop.example/a.png', filename: 'a.png', filesize: 1024 },
    },
  ],
}

describe('a callback', () => {
  test('is read with every field of the specification', () => {
    expect(callbackBody.parse(body)).toEqual(body)
  })

  test.each([1001, '1001', 9223372036854775807n])('may contain the id %o', id => {
    expect(callbackBody.parse({ ...body, id, msg_id: id })).toMatchObject({ id, msg_id: id })
  })
})

test('the asynchronous interface answers with a request id', () => {
  expect(asyncResponse.parse({ success: true, request_id: 'r-1' })).toEqual({ success: true, request_id: 'r-1' })
  expect(asyncResponse.safeParse({ request_id: 'r-1' }).success).toBe(false)
})
