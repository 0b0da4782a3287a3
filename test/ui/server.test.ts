import { networkInterfaces } from 'node:os'
import { describe, expect, test, vi } from 'vitest'
import type { Now } from '../../src/ui/now.ts'
import { Viewers } from '../../src/ui/viewers.ts'
import { until } from '../support/bus.ts'
import { eventually, rawConnection } from '../support/callbacks.ts'
import { buildCommand } from '../support/commands.ts'
import { ask, startPage } from '../support/ui.ts'
import { startWorld } from '../support/worker.ts'

const text = 'a text that occurs nowhere else'
const secretSms = (id: bigint, phone = 380671234501) =>
  buildCommand({ id, phone, tenant: 'shop', correlationId: 'order-7', message: sms(text) })
const sms = (sms_message: string) => ({
  'io.busgate.Sms': { ...(Object.values(buildCommand().message)[0] as object), sms_message } as never,
})

describe('the server of the page', () => {
  test.each([
    ['another host', 'evil.example'],
    ['a host that begins like its own', '127.0.0.1.evil.example'],
    ['a host that ends like its own', 'evil-localhost:80'],
    ['another address', '10.0.0.1:9465'],
  ])('refuses every request whose host header is %s', async (_, host) => {
    const { url } = await startPage(await startWorld())
    for (const path of ['', 'main.js', 'api/now', 'api/messages?by=id&text=1']) {
      const { status, body } = await ask(url + path, { host })
      expect([path, status]).toEqual([path, 403])
      expect(body).toMatch(/^This page answers only under localhost, 127\.0\.0\.1 and \[::1\]/)
    }
  })

  test.each(['localhost', 'LOCALHOST:1234', '127.0.0.1:80', '[::1]:9465'])(
    'answers under the host %s, as through a tunnel',
    async host => {
      const { url } = await startPage(await startWorld())
      expect((await ask(url, { host })).status).toBe(200)
    },
  )

  test('refuses requests of scripts on other sites, but not links from them', async () => {
    const { url } = await startPage(await startWorld())
    const foreign = { 'sec-fetch-site': 'cross-site' }
    expect((await ask(`${url}api/messages?by=id&text=1`, { ...foreign, 'sec-fetch-mode': 'no-cors' })).status).toBe(403)
    const link = { ...foreign, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    expect((await ask(url, link)).status).toBe(200)
    expect((await ask(`${url}?`, link)).status).toBe(200)
    for (const path of ['api/now', 'api/messages?by=id&text=1', 'main.js']) {
      expect([path, (await ask(url + path, link)).status]).toEqual([path, 403])
    }
    expect((await ask(url, { ...link, 'sec-fetch-dest': 'iframe' })).status).toBe(403)
    expect((await ask(`${url}main.js`, { 'sec-fetch-site': 'same-origin' })).status).toBe(200)
  })

  test.each(['//', '///', '//x/api/now', 'http://[::1', '*', '/%', '/api/messages/../..//'])(
    'answers 404 to the request target %s',
    async target => {
      const { url } = await startPage(await startWorld())
      const raw = rawConnection(Number(new URL(url).port))
      raw.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 404 /))
    },
  )

  test('refuses connections from other machines', async () => {
    const { url } = await startPage(await startWorld())
    const outside = Object.values(networkInterfaces()).flatMap(
      list => list?.filter(one => !one.internal && one.family === 'IPv4') ?? [],
    )
    for (const { address } of outside) {
      await expect(ask(url.replace('127.0.0.1', address), { host: 'localhost' })).rejects.toThrow('ECONNREFUSED')
    }
  })

  test.each(['POST', 'PUT', 'DELETE', 'HEAD'])('refuses the method %s', async method => {
    const { url } = await startPage(await startWorld())
    const { status, headers } = await ask(`${url}api/now`, {}, method)
    expect([status, headers.allow]).toEqual([405, 'GET'])
  })
})

test('a client that pipelines requests to the page is closed, and others are answered', async () => {
  const { url } = await startPage(await startWorld())
  const raw = rawConnection(Number(new URL(url).port))
  raw.write('GET /api/now HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2000))
  await eventually(() => expect(raw.closed).toBe(true))
  expect((await ask(url)).status).toBe(200)
})

test('a page that reads nothing for 30 s is closed', () => {
  const watchers: ((now: Now) => void)[] = []
  const watch = (send: (now: Now) => void) => void watchers.push(send)
  const viewers = new Viewers({ watch, history: () => ({}), now: () => ({}) } as never)
  const stalled = { writableLength: 1, write: vi.fn(), destroy: vi.fn(), on() {} }
  viewers.add(stalled as never)
  for (let steps = 0; steps < 15; steps++) watchers[0]!({} as Now)
  expect(stalled.destroy).not.toHaveBeenCalled()
  watchers[0]!({} as Now)
  expect(stalled.destroy).toHaveBeenCalledOnce()
})

test('the page may load only its own files, and requests nothing else', async () => {
  const { url } = await startPage(await startWorld())
  const page = await ask(url)
  expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
  expect(page.headers['content-security-policy']).not.toContain('unsafe')
  expect(page.headers['x-content-type-options']).toBe('nosniff')
  expect(page.body).not.toMatch(/<script(?![^>]* src="\/)|<style| style=| on\w+=/)
  const seen = new Set<string>()
  const follow = async (path: string): Promise<void> => {
    if (seen.has(path)) return
    seen.add(path)
    const { status, body } = await ask(new URL(path, url).href)
    expect([path, status]).toEqual([path, 200])
    for (const [, named] of body.matchAll(/(?:src|href)="(\/[^"]+)"|from ['"](\.?\/[^'"]+)['"]/g)) {
      if (named) await follow(named)
    }
    for (const [, named = ''] of body.matchAll(/from ['"]\.?(\/[^'"]+)['"]/g)) await follow(named)
    expect(body.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/(src|href)="https?:|from ['"]https?:|url\(/)
  }
  await follow('/')
  expect([...seen]).toEqual(expect.arrayContaining(['/main.js', '/style.css', '/lit-html.js', '/story.js']))
})

describe('a search request', () => {
  test.each([
    ['by=name&text=1', 'by: expected one of id, correlation, phone'],
    ['by=id&text=', 'text: expected a search text'],
    ['by=id&text=abc', 'text: expected an id, a whole number from 1 to 9223372036854775807'],
    ['by=id&text=9223372036854775808', 'text: expected an id'],
    ['by=id&text=1&back=never', 'back: expected a duration in milliseconds'],
    ['by=phone&text=4567', 'phones are hidden: busgate ui --reveal allows searches by phone'],
  ])('with %s is refused with what is expected', async (asked, expected) => {
    const { url } = await startPage(await startWorld())
    const { status, body } = await ask(`${url}api/messages?${asked}`)
    expect(status).toBe(400)
    expect(JSON.parse(body).error).toContain(expected)
  })

  test('by phone needs at least four digits', async () => {
    const { url } = await startPage(await startWorld(), { reveal: true })
    expect((await ask(`${url}api/messages?by=phone&text=567`)).status).toBe(400)
  })
})

test('the page shows a message without phone and text, unless --reveal is given', async () => {
  const world = await startWorld()
  await world.send([secretSms(11n)])
  await world.finished(1)
  await until(() => expect(world.statuses().length).toBeGreaterThan(0))
  const hidden = await startPage(world)
  const open = await startPage(world, { reveal: true })
  const hiddenAnswer = await ask(`${hidden.url}api/messages?by=id&text=11`)
  expect(hiddenAnswer.body).toContain('Sent: ')
  for (const secret of ['380671234501', text]) {
    expect(hiddenAnswer.body).not.toContain(secret)
    expect((await ask(`${open.url}api/messages?by=id&text=11`)).body).toContain(secret)
  }
})

test('the page finds messages by id, correlation id and the last digits of a phone', async () => {
  const world = await startWorld()
  await world.send([secretSms(21n), secretSms(22n, 380671239999), buildCommand({ id: 23n })])
  await world.finished(3)
  const { url } = await startPage(world, { reveal: true })
  const find = async (asked: string) => JSON.parse((await ask(`${url}api/messages?${asked}`)).body)
  expect((await find('by=id&text=21')).stories).toMatchObject([{ id: '21', found: true }])
  expect((await find('by=id&text=77')).stories).toMatchObject([{ id: '77', found: false }])
  const ofOrder = (await find('by=correlation&text=order-7')).stories.map(({ id }: { id: string }) => id)
  expect(ofOrder.toSorted()).toEqual(['21', '22'])
  const ids = async (asked: string) => (await find(asked)).commands.map(({ id }: { id: string }) => id).toSorted()
  expect(await ids('by=phone&text=9999')).toEqual(['22'])
  expect(JSON.stringify(await find('by=phone&text=9999'))).not.toContain('380671239999')
})

test('the page shows an id beyond 2^53 with all digits', async () => {
  const id = 2n ** 62n + 1n
  const world = await startWorld()
  await world.send([buildCommand({ id })])
  await world.finished(1)
  const { url } = await startPage(world)
  const { stories } = JSON.parse((await ask(`${url}api/messages?by=id&text=${id}`)).body)
  expect(stories[0].id).toBe(String(id))
  expect(stories[0].lines.map(({ detail }: { detail?: { id: string } }) => detail?.id).filter(Boolean)).toEqual(
    expect.arrayContaining([String(id)]),
  )
})

test('one search runs at a time, and is aborted when its client disconnects', async () => {
  const world = await startWorld()
  await world.send([buildCommand({ id: 31n })])
  await world.finished(1)
  let searching = 0
  let most = 0
  let holds = true
  const { bus } = world
  const search = bus.search.bind(bus)
  bus.search = async (tp, query) => {
    if (!query.needles) return search(tp, query) // not for a message
    most = Math.max(most, ++searching)
    try {
      if (!holds) return await search(tp, query)
      return await new Promise<never>((_, reject) => {
        query.ending.addEventListener('abort', () => reject(query.ending.reason))
      })
    } finally {
      searching--
    }
  }
  const { url } = await startPage(world)
  const leaves = new AbortController()
  const first = fetch(`${url}api/messages?by=id&text=31`, { signal: leaves.signal })
  await until(() => expect(searching).toBeGreaterThan(0))
  const ofOne = most
  const second = fetch(`${url}api/messages?by=id&text=31`)
  await until(async () => expect((await ask(url)).status).toBe(200)) // the server still answers
  holds = false
  leaves.abort()
  await expect(first).rejects.toThrow()
  const { stories } = (await (await second).json()) as { stories: { found: boolean }[] }
  expect(stories).toMatchObject([{ found: true }])
  expect(most).toBe(ofOne)
})
