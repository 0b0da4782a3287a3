import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A file with an API key, until the test ends. */
export async function keyFile(key: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'busgate-key-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'key')
  await writeFile(file, `${key}\n`)
  return file
}
