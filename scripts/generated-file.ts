import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const isCheck = process.argv.includes('--check')

/** What was found stale so far, with what to do about it where that is not to generate it. */
export const stale: string[] = []

/** Writes a generated file; with --check on the command line only notes that it is stale. @param path from the project's root */
export function writeGenerated(path: string, text: string): void {
  const target = new URL(path, root)
  if (!isCheck) writeFileSync(target, text)
  else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) stale.push(path)
}

/** Writes all files of a folder, and removes others. */
export function writeGeneratedFolder(folder: string, files: ReadonlyMap<string, string>): void {
  if (!isCheck) mkdirSync(new URL(folder, root), { recursive: true })
  for (const [name, text] of files) writeGenerated(`${folder}/${name}`, text)
  for (const name of readdirSync(new URL(folder, root))) {
    if (files.has(name)) continue
    if (isCheck) stale.push(`${folder}/${name}`)
    else rmSync(new URL(`${folder}/${name}`, root))
  }
}
