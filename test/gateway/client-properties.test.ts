import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError, type ItemResult } from '../../src/gateway/index.ts'
import { type OperationType, operationTypes, parseJson, stringifyJson } from '../../src/protocol/index.ts'
import { postText, sandboxFor } from '../sandbox/support.ts'
import { clientFor } from '../support/client.ts'
import { buildOperation } from '../support/operations.ts'
import { type ProxyAnswer, startProxy } from '../support/reverse-proxy.ts'

/** For a JSON value and each value in it, a function that replaces it and returns the whole. */
function places(value: unknown, put: (next: unknown) => unknown = next => next): ((next: unknown) => unknown)[] {
  if (typeof value !== 'object' || value === null) return [put]
  const inner = Object.entries(value).flatMap(([key, held]) =>
    places(held, next => {
      const copy = Array.isArray(value) ? [...value] : { ...value }
      ;(copy as Record<string, unknown>)[key] = next
      return put(copy)
    }),
  )
  return [put, ...inner]
}

/** Mutations of a body: cut, with changed bytes, with replaced or missing values, or an unrelated body. */
function mutationsOf(text: string): fc.Arbitrary<string> {
  const value = parseJson(text)
  const spots = places(value)
  const replaced = fc
    .tuple(fc.nat({ max: spots.length - 1 }), fc.oneof(fc.jsonValue(), fc.constant(undefined)))
    .map(([i, next]) => stringifyJson(spots[i]!(next)) ?? '')
  const cut = fc.nat({ max: text.length }).map(length => text.slice(0, length))
  const changed = fc
    .tuple(fc.nat({ max: text.length - 1 }), fc.string({ maxLength: 3 }))
    .map(([i, piece]) => text.slice(0, i) + piece + text.slice(i + 1))
  return fc.oneof({ weight: 4, arbitrary: replaced }, cut, changed, fc.string(), fc.json(), fc.constant(text))
}

const anyStatus = fc.oneof({ weight: 3, arbitrary: fc.constant(200) }, fc.integer({ min: 200, max: 599 }))
const anyHeaders = fc.constantFrom<Record<string, string>>(
  {},
  { 'retry-after': '-3' },
  { 'retry-after': '99999999999999999999' },
  { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' },
  { location: 'http://127.0.0.1:1/' },
  { 'content-encoding': 'gzip' },
)
const answersLike = (text: string): fc.Arbitrary<ProxyAnswer> =>
  fc.record({ body: mutationsOf(text), status: anyStatus, headers: anyHeaders })

test('for any mutation of an answer, every operation ends with a payload or a documented error', async () => {
  const sandbox = await sandboxFor()
  const idOf = (type: OperationType) => operationTypes.indexOf(type) + 1
  const list = operationTypes.map(type => {
    const asked = type === 'status' ? { id: idOf('sms') } : {}
    return buildOperation(type, 'phone' in buildOperation(type) ? { id: idOf(type) } : asked)
  })
  const { text } = await postText(sandbox, stringifyJson({ auth: 'sandbox-key', data: list }))
  const proxy = await startProxy()
  const client = clientFor(proxy.url)
  let whole = 0
  await fc.assert(
    fc.asyncProperty(answersLike(text), async answer => {
      proxy.answer = () => answer
      const results: ItemResult[] | GatewayError = await client.send(list).catch(error => error)
      if (results instanceof GatewayError) {
        expect(results.retryable && !results.definite).toBe(false)
        return
      }
      expect(results).toHaveLength(list.length)
      for (const [i, result] of results.entries()) {
        if (result.ok) expect(result.type).toBe(list[i]!.type)
        else expect(result.error).toBeInstanceOf(GatewayError)
      }
      if (results.every(({ ok }) => ok)) whole++
    }),
    { numRuns: 500 },
  )
  expect(whole).toBeGreaterThan(0) // some answers stayed valid
})
