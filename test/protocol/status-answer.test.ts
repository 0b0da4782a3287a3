import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { statusProof } from '../../src/protocol/index.ts'
import { statusTexts } from '../../src/protocol/states.ts'

const notFoundTexts = ['Message not found']

describe('an answer to status', () => {
  test.each<[unknown, string]>([
    [{ id: 1, type: 'sms', status: 'DELIVERED' }, 'sent'],
    [{ id: 1, type: 'sms', status: 'SENT' }, 'sent'],
    [{ id: 1, status: 'in_progress' }, 'sent'],
    ['DELIVERED', 'sent'],
    [[{ id: 1, status: 'READ' }], 'sent'],
    [{ id: 1, state: 'DELIVERED' }, 'sent'],
    [{ id: 1, status: { code: 3, text: 'Доставлено' } }, 'sent'],
    [{ id: 'gw-77', status: 'ROUTING' }, 'sent'],
    [{ status: 'UNKNOWN', final_status: 'EXPIRED' }, 'sent'],
    [{ success: true }, 'sent'],
    [{ success: false, status: 'UNDELIVERABLE' }, 'sent'],
    [[{ success: false }, { success: true }], 'unreadable'],
    [[{ success: true }, { success: false }], 'unreadable'],
    [{ id: 1, status: 'Unknown' }, 'unknown'],
    [{ status: 'UNKNOWN', success: true }, 'unknown'],
    [{ id: 1, status: 'message not found.' }, 'not_found'],
    [{ id: 1, error: 'Message not found' }, 'not_found'],
    [{ id: 1, type: 'sms', msg_id: 'a1', phone: 'x', request_id: 'r' }, 'unreadable'],
    [{ id: 1, status: 3 }, 'unreadable'],
    [{ id: 1, status: '3' }, 'unreadable'],
    [{ id: 1, delivered: true }, 'unreadable'],
    [{ status: 'NOT FOUND', success: false }, 'unreadable'],
    [{ status: 'UNKNOWN', note: 'see the log' }, 'unreadable'],
    [{ id: 1, error: 'No such message' }, 'unreadable'],
    [{}, 'unreadable'],
    [[], 'unreadable'],
    [null, 'unreadable'],
    [undefined, 'unreadable'],
    [0, 'unreadable'],
  ])('%j proves: %s', (content, proof) => {
    expect(statusProof(content, notFoundTexts)).toBe(proof)
  })

  const echoes = ['type', 'id', 'phone', 'msg_id', 'request_id']
  const listed = fc.constantFrom(...[...statusTexts.keys()].filter(text => text !== 'UNKNOWN'))
  const word = fc.string({ minLength: 1, unit: fc.constantFrom(...'aZ9 _ж!') }).filter(text => /\p{L}/u.test(text))
  const isTelling = (text: string) => text.trim().toUpperCase() !== 'UNKNOWN'
  const field = fc.string().filter(name => ![...echoes, 'error', 'success', '__proto__'].includes(name))

  /** Puts a value somewhere into any JSON. */
  const around = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.letrec(tie => ({
      place: fc.oneof(
        { maxDepth: 5 },
        inner,
        fc.tuple(fc.array(fc.jsonValue({ maxDepth: 2 })), tie('place')).map(([others, one]) => [...others, one]),
        fc
          .tuple(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), field, tie('place'))
          .map(([others, name, one]) => ({ ...others, [name]: one })),
      ),
    })).place

  test('of any shape with a listed text other than UNKNOWN proves that the message was sent', () => {
    fc.assert(fc.property(around(listed), content => statusProof(content, notFoundTexts) === 'sent'))
  })

  test('of any shape with any text but UNKNOWN and "not found" never leaves the message to be sent again', () => {
    const mayBeSentAgain = ['unknown', 'not_found']
    const content = around(word.filter(isTelling))
    fc.assert(fc.property(content, one => !mayBeSentAgain.includes(statusProof(one, notFoundTexts))))
  })

  test('of any shape without a text never proves that the message was sent, nor that it was not', () => {
    const numbers = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.constant(''), fc.integer().map(String))
    const names = fc.string().filter(name => name !== 'success')
    const { content } = fc.letrec(tie => ({
      content: fc.oneof(
        { maxDepth: 4 },
        numbers,
        fc.array(tie('content')),
        fc.dictionary(names, tie('content')),
        fc.dictionary(fc.constantFrom(...echoes), word),
      ),
    }))
    fc.assert(fc.property(content!, one => statusProof(one, notFoundTexts) === 'unreadable'))
  })

  test('may be nested as deeply as JSON allows', () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}"READ"${']'.repeat(50_000)}`)
    expect(statusProof(deep)).toBe('sent')
  })
})
