import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Writes an API key to a file, which is removed at the end of the test. @returns the path */
export async function keyFile(key: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'busgate-key-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'key')
  await writeFile(file, `${key}\n`)
  return file
}
