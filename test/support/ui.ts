import { request } from 'node:http'
import { onTestFinished, vi } from 'vitest'
import type { Bus } from '../../src/bus/port.ts'
import type { History, Now } from '../../src/ui/now.ts'
import { startUi, type UiOptions } from '../../src/ui/server.ts'
import type { World } from './worker.ts'

/** How long a condition may take to come true on a busy machine. */
const patienceMs = 40_000

/** The page of a world, at its own port; it ends with its test. */
export async function startPage(
  { bus, registry, settings }: Pick<World, 'bus' | 'registry' | 'settings'>,
  options: Partial<Pick<UiOptions, 'reveal'>> & { bus?: Bus } = {},
) {
  const page = await startUi({ bus, registry, settings, port: 0, reveal: false, ...options })
  onTestFinished(() => page.close())
  return page
}

export interface HttpAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

/** Asks with any headers, `host` among them, which `fetch` does not allow. */
export function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
  const asking = request(url, { method, headers }, response => {
    let body = ''
    response.setEncoding('utf8').on('data', chunk => {
      body += chunk
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
  })
  asking.on('error', reject).end()
  return promise
}

/** The first state of a page that is as it is waited for: whoever begins to watch gets the newest at once. */
export async function nowThat(url: string, fits: (now: Now) => boolean): Promise<Now> {
  let last: Now | null = null
  const look = async () => {
    for await (const { event, data } of eventsAt(url, AbortSignal.timeout(patienceMs))) {
      if (event !== 'now') continue
      last = data as Now
      break
    }
    if (!last || !fits(last)) throw new Error(`the page never came so far; last it showed ${JSON.stringify(last)}`)
    return last
  }
  return vi.waitFor(look, { timeout: patienceMs, interval: 100 })
}

/** The line that a page begins with: its first event. */
export async function historyAt(url: string): Promise<History> {
  for await (const { event, data } of eventsAt(url, AbortSignal.timeout(patienceMs))) {
    if (event === 'history') return data as History
    break
  }
  throw new Error('it begins with something else')
}

/** The server-sent events of a page. */
export async function* eventsAt(
  url: string,
  signal: AbortSignal,
): AsyncGenerator<{ event: string; data: Now | History }> {
  const response = await fetch(new URL('api/now', url), { signal })
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const one of events) {
      const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(one) ?? []
      yield { event, data: JSON.parse(data) }
    }
  }
}
