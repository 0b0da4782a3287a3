import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, test } from 'vitest'
import { patchOf, plantedBugs } from '../simulation/planted.ts'

let copy: string
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'busgate-patches-'))
  cpSync('src', join(copy, 'src'), { recursive: true })
})
afterAll(() => rmSync(copy, { recursive: true }))

test.each(plantedBugs().map(({ name }) => name))('the planted bug %s fits the source', name => {
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(copy) }
  execFileSync('git', ['apply', '-C1', '--recount', '--check', patchOf(name)], { cwd: copy, env, stdio: 'pipe' })
})
