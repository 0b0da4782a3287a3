import { request } from 'node:http'
import { onTestFinished, vi } from 'vitest'
import type { Bus } from '../../src/bus/port.ts'
import type { History, Now } from '../../src/ui/now.ts'
import { startUi, type UiOptions } from '../../src/ui/server.ts'
import type { World } from './worker.ts'

/** The time-out for a condition, long enough for a busy machine. */
const patienceMs = 40_000

/** Serves the page of a world on a free port until the end of the test. */
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

/** Sends a request with any headers, including `host`, which `fetch` forbids. */
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

/** Waits until the page's state fits. Each attempt opens a new event stream, which begins with the newest state. */
export async function waitForState(url: string, fits: (now: Now) => boolean): Promise<Now> {
  let last: Now | null = null
  const look = async () => {
    for await (const { event, data } of eventsAt(url, AbortSignal.timeout(patienceMs))) {
      if (event !== 'now') continue
      last = data as Now
      break
    }
    if (!last || !fits(last))
      throw new Error(`the page never showed the expected state; its last one: ${JSON.stringify(last)}`)
    return last
  }
  return vi.waitFor(look, { timeout: patienceMs, interval: 100 })
}

/** The history that the page begins with: its first event. */
export async function historyAt(url: string): Promise<History> {
  for await (const { event, data } of eventsAt(url, AbortSignal.timeout(patienceMs))) {
    if (event === 'history') return data as History
    break
  }
  throw new Error('the first event is not the history')
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
