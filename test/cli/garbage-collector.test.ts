import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Makes objects of which many live for a while, and prints the most MiB that the space for new ones had. */
const program = (isBound: boolean) => `
  const { getHeapSpaceStatistics } = await import('node:v8')
  const { tuneGarbageCollector } = await import('./src/cli/garbage-collector.ts')
  if (${isBound}) tuneGarbageCollector()
  let kept = []
  let most = 0
  for (let round = 0; round < 200; round++) {
    for (let i = 0; i < 10_000; i++) kept.push({ round, list: [round, i], text: 'x' + i })
    if (kept.length > 50_000) kept = kept.slice(25_000)
    await new Promise(setImmediate)
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    most = Math.max(most, space_size)
  }
  console.log(most / 1024 / 1024)
`

async function mostNewMiB(isBound: boolean, ...flags: string[]): Promise<number> {
  const args = [...flags, '--input-type=module', '--eval', program(isBound)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } })
  return Number(stdout)
}

test('the space for new objects stays at 16 to 32 MiB, where V8 would let it grow to 64 and more', async () => {
  const [bound, unbound] = await Promise.all([mostNewMiB(true), mostNewMiB(false)])
  expect(bound).toBeLessThan(48) // V8 adds a little for a moment
  expect(unbound).toBeGreaterThanOrEqual(64)
})

test('who gave Node a size for the space is obeyed', async () => {
  expect(await mostNewMiB(true, '--min-semi-space-size=32', '--max-semi-space-size=32')).toBe(64)
})
