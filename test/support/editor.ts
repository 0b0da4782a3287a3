import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '../..')
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

interface Message {
  id?: number
  method?: string
  result?: unknown
}

/** An editor that has opened a TypeScript file of the project: it speaks to the compiler's language server. */
export interface Editor {
  /** Shows what is known of the last letter of the first place where `code` stands. */
  hover(code: string): Promise<string>
}

/** @param path from the root of the project; the file need not exist there when `text` is given */
export async function openInEditor(path: string, text = readFileSync(join(root, path), 'utf8')): Promise<Editor> {
  const server = spawn(process.execPath, [compiler, '--lsp', '--stdio'], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  onTestFinished(() => void server.kill())
  const answers = new Map<number, (result: unknown) => void>()
  let received = Buffer.alloc(0)
  server.stdout.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (let message = take(); message !== null; message = take()) {
      if (message.method !== undefined && message.id !== undefined) send({ id: message.id, result: null })
      else if (message.id !== undefined) answers.get(message.id)?.(message.result)
    }
  })

  function take(): Message | null {
    const end = received.indexOf('\r\n\r\n')
    const length = Number(/Content-Length: (\d+)/i.exec(received.toString('latin1', 0, Math.max(0, end)))?.[1])
    if (end < 0 || received.length < end + 4 + length) return null
    const body = received.toString('utf8', end + 4, end + 4 + length)
    received = received.subarray(end + 4 + length)
    return JSON.parse(body)
  }

  function send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }

  function ask(method: string, params: object): Promise<unknown> {
    const id = answers.size + 1
    const { promise, resolve } = Promise.withResolvers<unknown>()
    answers.set(id, resolve)
    send({ id, method, params })
    return promise
  }

  const uri = pathToFileURL(join(root, path)).href
  await ask('initialize', { processId: process.pid, rootUri: pathToFileURL(root).href, capabilities: {} })
  send({ method: 'initialized', params: {} })
  send({
    method: 'textDocument/didOpen',
    params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
  })
  return {
    async hover(code) {
      const before = text.slice(0, text.indexOf(code) + code.length - 1).split('\n')
      const position = { line: before.length - 1, character: before.at(-1)!.length }
      return JSON.stringify(await ask('textDocument/hover', { textDocument: { uri }, position }))
    },
  }
}
