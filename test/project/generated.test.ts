import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('generated files are up to date', { timeout: 120_000 }, () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/generate.ts', '--check'], { encoding: 'utf8' })
  expect({ status, stderr }).toMatchObject({ status: 0 })
})
