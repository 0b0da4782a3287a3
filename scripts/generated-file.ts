import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const isCheck = process.argv.includes('--check')

/** The stale files found so far, with what to do if that is not `npm run generate`. */
export const stale: string[] = []

/** Writes a generated file, or with --check only records whether it is stale. @param path from the project's root */
export function writeGenerated(path: string, text: string): void {
  const target = new URL(path, root)
  if (!isCheck) writeFileSync(target, text)
  else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) stale.push(path)
}

/** Writes all files of a folder, and removes other files. */
export function writeGeneratedFolder(folder: string, files: ReadonlyMap<string, string>): void {
  if (!isCheck) mkdirSync(new URL(folder, root), { recursive: true })
  for (const [name, text] of files) writeGenerated(`${folder}/${name}`, text)
  for (const name of readdirSync(new URL(folder, root))) {
    if (files.has(name)) continue
    if (isCheck) stale.push(`${folder}/${name}`)
    else rmSync(new URL(`${folder}/${name}`, root))
  }
}
