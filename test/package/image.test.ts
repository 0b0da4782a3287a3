import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../support/packed.ts'

const root = join(import.meta.dirname, '../..')
const linesOf = (file: string) => readFileSync(join(root, file), 'utf8').split('\n')

/** What the Dockerfile takes from the checkout. */
const copied = linesOf('Dockerfile')
  .filter(line => /^COPY (?!--)/.test(line))
  .flatMap(line => line.split(' ').slice(1, -1))

test('the image’s build is given what its Dockerfile copies, and nothing else', () => {
  const given = linesOf('.dockerignore').flatMap(line => (line.startsWith('!') ? [line.slice(1)] : []))
  expect(new Set(given)).toEqual(new Set(copied))
})

test('what the Dockerfile copies is enough to build a command line that runs', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'busgate-image-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const file of copied) await cp(join(root, file), join(folder, file), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const script of ['build', 'sbom']) await runProgram(folder, 'npm', ['run', script])
  await rm(join(folder, 'src'), { recursive: true })
  expect(await runProgram(folder, 'node', ['dist/cli/bin.js', 'run', '--help'])).toMatch(/^Usage: busgate run /)
})
