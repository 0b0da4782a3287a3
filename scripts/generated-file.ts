import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * Writes a generated file. With --check on the command line it writes nothing, and the process fails when it is stale.
 * @param path from the root of the project
 */
export function writeGenerated(path: string, text: string): void {
  const target = new URL(`../${path}`, import.meta.url)
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text)
  } else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
    console.error(`${path} is stale: npm run generate`)
    process.exitCode = 1
  }
}
