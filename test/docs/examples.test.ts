import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { blocks } from '../support/documents.ts'

const root = join(import.meta.dirname, '../..')

const parts = blocks.flatMap(block => {
  const [, example] = /^it is a part of (\S+), which a test runs$/.exec(block.excuse ?? '') ?? []
  return example === undefined ? [] : { ...block, example }
})

test.each(parts)('$file:$line quotes $example exactly', ({ example, text }) => {
  expect(readFileSync(join(root, example), 'utf8')).toContain(text)
})

test.each(['producers.md', 'analytics.md', 'embedding.md'])('docs/%s quotes examples', document => {
  expect(parts.filter(({ file }) => file === `docs/${document}`).length).toBeGreaterThan(2)
})

test('the kafkajs example refuses to run on an old Node.js before it sends', async () => {
  const old = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.11.0'}})"
  const send = join(root, 'examples/kafkajs/send.js')
  const args = [`--import=data:text/javascript,${old}`, send, '1001', '380671234567', 'Hello']
  const { stderr } = await promisify(execFile)(process.execPath, args).catch(error => error)
  expect(stderr).toBe('Nothing was sent: this program needs Node.js 22 or newer, and this is 20.11.0.\n')
})
