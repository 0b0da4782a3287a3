import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { Unanswered } from '../../src/bus/cluster/errors.ts'
import { Tokens } from '../../src/bus/cluster/tokens.ts'
import { Secret } from '../../src/config/secret.ts'
import { ManualClock } from '../support/clock.ts'

interface TokenRequest {
  authorization: string | undefined
  body: string
}

/** Starts a token endpoint with these answers, and a client of it. */
async function build(
  answer: (asked: number) => { status?: number; body: unknown },
  secret = () => 'p:w',
  asks: { audience?: string; resource?: string } = {},
) {
  const asked: TokenRequest[] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    asked.push({ authorization: request.headers.authorization, body: await text(request) })
    const { status = 200, body } = answer(asked.length)
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const tokenEndpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`
  const clock = new ManualClock()
  const clientSecret = new Secret(secret)
  const tokens = new Tokens({ tokenEndpoint, clientId: 'a client', clientSecret, scope: 'kafka', ...asks }, clock)
  return { asked, clock, tokens, server }
}

test("a token is requested with the client's credentials, and kept until it is about to expire", async () => {
  const { asked, clock, tokens } = await build(count => ({ body: { access_token: `token ${count}`, expires_in: 100 } }))
  expect(await Promise.all([tokens.get(), tokens.get()])).toEqual(['token 1', 'token 1'])
  await clock.pass(79_000)
  expect(await tokens.get()).toBe('token 1')
  await clock.pass(2_000)
  expect(await tokens.get()).toBe('token 2')
  expect(asked[0]).toEqual({
    authorization: `Basic ${Buffer.from('a%20client:p%3Aw').toString('base64')}`,
    body: 'grant_type=client_credentials&scope=kafka',
  })
  expect(asked).toHaveLength(2)
})

test('a token is requested for an audience and a resource', async () => {
  const asks = { audience: 'https://kafka.example', resource: 'api://a&b' }
  const { asked, tokens } = await build(() => ({ body: { access_token: 'token' } }), undefined, asks)
  await tokens.get()
  expect(Object.fromEntries(new URLSearchParams(asked[0]!.body))).toEqual({
    grant_type: 'client_credentials',
    scope: 'kafka',
    ...asks,
  })
})

test('a token that expired during a suspend is not used', async () => {
  const { clock, tokens } = await build(count => ({ body: { access_token: `token ${count}`, expires_in: 100 } }))
  await tokens.get()
  clock.suspend(3_600_000)
  expect(await tokens.get()).toBe('token 2')
})

test('a changed client secret is used for the next token', async () => {
  let secret = 'first'
  const { asked, clock, tokens } = await build(
    () => ({ body: { access_token: 'token', expires_in: 100 } }),
    () => secret,
  )
  await tokens.get()
  secret = 'second'
  await clock.pass(81_000)
  await tokens.get()
  expect(asked.map(({ authorization }) => authorization)).toEqual(
    ['first', 'second'].map(one => `Basic ${Buffer.from(`a%20client:${one}`).toString('base64')}`),
  )
})

test.each([
  ['fails', { status: 503, body: 'busy' }],
  ['is unavailable', null],
])('a token endpoint that %s counts as an outage', async (_, answer) => {
  const { tokens, server } = await build(() => answer ?? { body: '' })
  if (!answer) {
    server.close()
    await once(server, 'close')
  }
  const failed = await tokens.get().catch(error => error)
  expect(failed).toBeInstanceOf(Unanswered)
  expect(failed.message).toContain('/token')
})

test('the error for a refused token says what to check, without the secret and the answer', async () => {
  const { tokens } = await build(() => ({ status: 401, body: { error: 'invalid_client', hint: 'p:w' } }))
  const failed = await tokens.get().catch(error => error)
  expect(failed).not.toBeInstanceOf(Unanswered)
  expect(failed.message).toMatch(/refuses a token \(401, invalid_client\): check kafka\.sasl\.clientId/)
  expect(failed.message).not.toContain('p:w')
})
