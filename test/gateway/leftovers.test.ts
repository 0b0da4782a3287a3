import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InDoubtError } from '../../src/gateway/index.ts'
import { itemsAnswer, sentItem } from '../support/answers.ts'
import { clientFor } from '../support/client.ts'
import { buildOperation } from '../support/operations.ts'
import { httpAnswer, scriptedServer } from '../support/scripted-server.ts'

/** The gateway's answer to a message, as bytes. */
function answerTo(id: number): string {
  const answer = itemsAnswer(sentItem(id, { msg_id: `m${id}` }))
  return answer.kind === 'response' ? httpAnswer(answer.body) : ''
}

/** What a gateway leaves on a connection, besides its answer to a message: behind the answer, or instead of it. */
const leftovers: Record<string, (id: number) => string> = {
  'an answer twice': id => answerTo(id) + answerTo(id),
  'a part of an answer': id => answerTo(id) + answerTo(id).slice(0, -9),
  'the beginning of 100 Continue': id => `${answerTo(id)}HTTP/1.1 10`,
  '100 Continue and an answer': id => `${answerTo(id)}HTTP/1.1 100 Continue\r\n\r\n${answerTo(id)}`,
  'an answer without a body': id => answerTo(id).replace(/content-length: \d+/, 'content-length: 0'),
  'the answer before, and from then on always the one before': id => answerTo(id - 1),
}

test('no message gets the answer to another, and one disturbed answer leaves at most one in doubt, whatever is left on a connection', async () => {
  const disturbed = fc.dictionary(
    fc.integer({ min: 2, max: 12 }).map(String),
    fc.constantFrom(...Object.keys(leftovers)),
    {
      maxKeys: 3,
    },
  )
  await fc.assert(
    fc.asyncProperty(disturbed, async disturbed => {
      const late = new WeakSet<object>()
      const server = await scriptedServer((socket, { body }) => {
        const id = Number(/"id":(\d+)/.exec(body)![1])
        const kind = disturbed[id]
        if (kind?.startsWith('the answer before')) late.add(socket)
        if (late.has(socket)) socket.write(answerTo(id - 1))
        else socket.write(kind ? leftovers[kind]!(id) : answerTo(id))
      })
      const client = clientFor(server.url, { connections: 1, timeoutMs: 60_000 })
      let doubts = 0
      for (let id = 1; id <= 15; id++) {
        try {
          expect(await client.sms(buildOperation('sms', { id }))).toMatchObject({ msg_id: `m${id}` })
        } catch (error) {
          if (!(error instanceof InDoubtError)) throw error
          doubts++
        }
      }
      expect(doubts).toBeLessThanOrEqual(Object.keys(disturbed).length)
      await client.close()
      await server.close()
    }),
    { numRuns: 40 },
  )
})
