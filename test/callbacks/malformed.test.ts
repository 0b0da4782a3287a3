import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiverBench } from '../support/callbacks.ts'
import { malformedBodies } from '../support/malformed.ts'

test('each of some thousand malformed bodies is answered 400 and why, on a connection that goes on, and becomes no event', async () => {
  const bench = await receiverBench()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const url = bench.url()
  const send = (body: Buffer) =>
    new Promise<string>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      request(url, { method: 'POST', agent, headers }, answer => {
        text(answer).then(said => resolve(`${answer.statusCode} ${said.trim()}`), reject)
      })
        .on('error', reject)
        .end(body)
    })
  const bodies = malformedBodies()
  const otherwise: string[] = []
  for (const { what, why, body } of bodies) {
    const answer = await send(body)
    if (answer !== `400 ${why}`) otherwise.push(`${what}: ${answer}`)
  }
  expect(otherwise).toEqual([])
  expect(bodies.length).toBeGreaterThan(700)
  expect(new Set(bodies.map(({ body }) => body.toString('latin1'))).size).toBeGreaterThan(700)
  expect(new Set(bench.refused)).toEqual(new Set(['bad_json', 'bad_body', 'not_utf8', 'too_deep', 'duplicate_name']))
  expect(bench.refused).toHaveLength(bodies.length)
  expect(bench.bus.calls).toHaveLength(0)
  expect((await post(url)).status).toBe(200)
})
