import { request } from 'undici'
import { onTestFinished } from 'vitest'
import { parseJson, type SendType, stringifyJson } from '../../src/protocol/index.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { buildOperation } from '../support/operations.ts'
import { startProxy } from '../support/reverse-proxy.ts'

/** Starts a sandbox until the end of the test. */
export async function sandboxFor(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ callbackDelayMs: 0, ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

export interface Item {
  success: boolean
  error?: string
  data: Record<string, unknown>
}

export interface Answer {
  success: boolean
  error?: string
  data: Item[]
}

export async function postText(sandbox: Sandbox, body: string, headers = { 'content-type': 'application/json' }) {
  const response = await request(`${sandbox.url}/api/json.php`, { method: 'POST', headers, body })
  return { status: response.statusCode, headers: response.headers, text: await response.body.text() }
}

export async function post(sandbox: Sandbox, data: unknown, auth = 'sandbox-key'): Promise<Answer> {
  const { text } = await postText(sandbox, stringifyJson({ auth, data }))
  return parseJson(text) as Answer
}

/** POSTs an envelope with one operation. @returns its only item */
export async function postOne(sandbox: Sandbox, operation: unknown, auth?: string): Promise<Item> {
  const { data } = await post(sandbox, [operation], auth)
  return data[0]!
}

let lastId = 1000

/** A valid send operation with a unique identifier, to a phone to which everything is delivered. */
export function operation(type: SendType, overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return buildOperation(type, { id: ++lastId, phone: 380670000000, ...overrides })
}

export interface Received {
  url: string
  body: Record<string, unknown>
}

/** Starts a receiver of callbacks that answers these statuses in turn, then 200. */
export async function callbackReceiver(statuses: number[] = []) {
  const proxy = await startProxy()
  const left = [...statuses]
  proxy.answer = () => ({ status: left.shift() ?? 200, body: '' })
  const { url, requests } = proxy
  return {
    url,
    get received(): Received[] {
      return requests.map(({ path, body }) => ({ url: path, body: JSON.parse(body) }))
    },
  }
}

/** Sends operations and waits until the sandbox has sent all callbacks about them. @returns the callbacks */
export async function calledBack(
  operations: (hook: string) => Record<string, unknown>[],
  { statuses = [], ...options }: SandboxOptions & { statuses?: number[] } = {},
  accountPath?: string,
) {
  const receiver = await callbackReceiver(statuses)
  const account = accountPath === undefined ? {} : { accountCallbackUrl: receiver.url + accountPath }
  const sandbox = await sandboxFor({ ...account, ...options })
  const items: Item[] = []
  for (const operation of operations(receiver.url)) items.push(await postOne(sandbox, operation))
  await sandbox.drained()
  await sandbox.close()
  return { received: receiver.received, items, stats: sandbox.stats() }
}
