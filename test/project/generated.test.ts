import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('the generated files are what they are made from', { timeout: 120_000 }, () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/generate.ts', '--check'], { encoding: 'utf8' })
  expect({ status, stderr }).toMatchObject({ status: 0 })
})
