import { describe, expect, test } from 'vitest'
import { conclude } from '../../../src/dispatch/outcome/outbox.ts'
import type { ItemAnswer } from '../../../src/gateway/classify.ts'
import { buildPending } from '../../support/pendings.ts'

const sentAt = 1_763_000_000_000
const refused = (code: (ItemAnswer & { kind: 'refused' })['code']): ItemAnswer => ({
  kind: 'refused',
  code,
  error: 'text',
})

describe.each([
  ['on its first POST', false],
  ['after a doubt', true],
])('%s', (_, doubted) => {
  const concluded = (answer: ItemAnswer) => conclude(buildPending({ attempts: 1, doubted }), answer, sentAt)
  const result = (details: object) => ({ kind: 'result', details: { attempts: 2, sentAt, ...details } })

  test('what the gateway took is sent', () => {
    const answer: ItemAnswer = { kind: 'sent', data: { id: 1, msg_id: 9001 } }
    expect(concluded(answer)).toEqual(result({ outcome: 'SENT', payload: expect.objectContaining({ msgId: '9001' }) }))
  })

  test('of what nobody can tell there is no result', () => {
    expect(concluded({ kind: 'in_doubt' })).toEqual({ kind: 'doubt' })
  })

  test('what was above a ceiling waits again', () => {
    expect(concluded(refused('THROTTLED'))).toEqual({ kind: 'again' })
  })

  const refusal = { errorCode: 'VALIDATION', error: 'text' }
  test(doubted ? 'a refusal says nothing about the first POST' : 'a refusal is final', () => {
    expect(concluded(refused('VALIDATION'))).toEqual(
      result({ outcome: doubted ? 'UNRESOLVED' : 'REJECTED', ...refusal }),
    )
  })

  test(
    doubted ? 'an id that the gateway knows proves the first POST' : 'an id that the gateway knows is a refusal',
    () => {
      expect(concluded(refused('DUPLICATE_ID'))).toMatchObject(result({ outcome: doubted ? 'SENT' : 'REJECTED' }))
    },
  )
})
