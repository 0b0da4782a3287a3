import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { runProgram } from '../support/packed.ts'

const root = join(import.meta.dirname, '../..')
const linesOf = (file: string) => readFileSync(join(root, file), 'utf8').split('\n')

/** What the Dockerfile takes from the checkout. */
const copied = linesOf('Dockerfile')
  .filter(line => /^COPY (?!--)/.test(line))
  .flatMap(line => line.split(' ').slice(1, -1))

/** A folder in which the image's build has been done with what the Dockerfile copies alone. */
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'busgate-image-'))
  for (const file of copied) await cp(join(root, file), join(folder, file), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const script of ['build', 'sbom']) await runProgram(folder, 'npm', ['run', script])
  await rm(join(folder, 'src'), { recursive: true })
}, 60_000)
afterAll(() => rm(folder, { recursive: true }))

test('the image’s build is given what its Dockerfile copies, and nothing else', () => {
  const given = linesOf('.dockerignore').flatMap(line => (line.startsWith('!') ? [line.slice(1)] : []))
  expect(new Set(given)).toEqual(new Set(copied))
})

test('the image’s command line runs without the sources', async () => {
  expect(await runProgram(folder, 'node', ['dist/cli/bin.js', 'run', '--help'])).toMatch(/^Usage: busgate run /)
})

test('a worker of the image says nothing that Node has to say of its dependencies', { timeout: 40_000 }, async () => {
  const registry = createServer((_request, response) => response.writeHead(404).end())
  await new Promise<void>(resolve => registry.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void registry.close())
  const worker = spawn(process.execPath, ['dist/cli/bin.js', 'run'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      BUSGATE_KAFKA_BROKERS: 'embedded',
      BUSGATE_REGISTRY_URL: `http://127.0.0.1:${(registry.address() as AddressInfo).port}`,
      BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
      BUSGATE_GATEWAY_API_KEY: 'a-key',
      BUSGATE_ROLES: 'worker',
      BUSGATE_TELEMETRY_PORT: '0',
    },
  })
  onTestFinished(() => void worker.kill('SIGKILL'))
  const said = { out: '', error: '' }
  worker.stdout.on('data', chunk => {
    said.out += chunk
  })
  worker.stderr.on('data', chunk => {
    said.error += chunk
  })
  await vi.waitUntil(() => said.out.includes('registry.unavailable'), { timeout: 30_000 })
  expect(said.error).toBe('')
})
