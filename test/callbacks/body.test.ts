import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { discardBody, readBody } from '../../src/callbacks/body.ts'
import { settled } from '../support/clock.ts'

/** A request whose body a test writes. */
function request(properties: Partial<IncomingMessage> = {}) {
  const body = new PassThrough()
  return { body, request: Object.assign(body, properties) as unknown as IncomingMessage }
}

/** Whether it is settled once everything that was written has arrived. */
async function isSettled(work: Promise<unknown>): Promise<boolean> {
  let ended = false
  void work.then(() => {
    ended = true
  })
  for (let i = 0; i < 5; i++) await settled()
  return ended
}

test.each([
  ['too_large', 10, true],
  ['overloaded', 1_000, false],
] as const)(
  'a body that is refused as %s takes no memory, however much of it still arrives',
  async (reason, most, hasRoom) => {
    const { body, request: refused } = request()
    const reserved: number[] = []
    const read = readBody(refused, most, bytes => {
      reserved.push(bytes)
      return hasRoom
    })
    body.write('x'.repeat(8))
    body.write('x'.repeat(8))
    expect(await read).toBe(reason)
    const before = reserved.length
    body.write('x')
    body.end('x')
    await settled()
    expect(reserved).toHaveLength(before)
  },
)

test('a body has at most the allowed size, and what was reserved for it is enough', async () => {
  const { body, request: whole } = request()
  let reserved = 0
  const read = readBody(whole, 10, bytes => {
    reserved += bytes
    return true
  })
  body.write('12345')
  body.end('67890')
  expect(String(await read)).toBe('1234567890')
  expect(reserved).toBeGreaterThanOrEqual(10)
})

test('a body whose sender has gone, before or while it is read, is given up', async () => {
  const { body, request: going } = request()
  const read = readBody(going, 10, () => true)
  body.write('1')
  body.destroy()
  expect(await read).toBe('aborted')
  await settled()
  expect(await readBody(going, 10, () => true)).toBe('aborted')
})

test('the rest of a refused body is awaited up to its end, its limit, or until its sender has gone', async () => {
  const arrived = request({ complete: true })
  expect(await isSettled(discardBody(arrived.request, 10))).toBe(true)
  for (const end of [
    ({ body }: typeof arrived) => body.end(),
    ({ body }: typeof arrived) => body.write('1'),
    ({ body }: typeof arrived) => body.destroy(),
  ]) {
    const waiting = request({ complete: false })
    const discarded = discardBody(waiting.request, 10)
    waiting.body.write('1234567890')
    expect(await isSettled(discarded)).toBe(false)
    end(waiting)
    expect(await isSettled(discarded)).toBe(true)
  }
  const gone = request({ complete: false })
  gone.body.destroy()
  await settled()
  expect(await isSettled(discardBody(gone.request, 10))).toBe(true)
})
