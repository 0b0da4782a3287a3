/**
 * Writes dist/busgate.cdx.json, the package's SBOM by npm (CycloneDX).
 * `npm sbom --omit=dev` omits dependencies that a development dependency needs too, such as undici. So npm gets a copy of
 * the lock file without development dependencies.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Locked {
  dev?: boolean
  devDependencies?: object
}

const root = new URL('../', import.meta.url)
const read = (file: string) => JSON.parse(readFileSync(new URL(file, root), 'utf8'))

const { devDependencies: _, ...manifest } = read('package.json')
const lock: { packages: Record<string, Locked> } = read('package-lock.json')
const packages = Object.entries(lock.packages)
  .filter(([, { dev }]) => !dev)
  .map(([path, { devDependencies: _, ...locked }]) => [path, locked])

const work = mkdtempSync(join(tmpdir(), 'busgate-sbom-'))
try {
  const copy = join(work, manifest.name) // npm names the package by its folder
  mkdirSync(copy)
  writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(copy, 'package-lock.json'), JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }))
  const options = ['--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application']
  const list = execFileSync('npm', ['sbom', ...options], { cwd: copy, encoding: 'utf8' })
  mkdirSync(new URL('dist/', root), { recursive: true })
  writeFileSync(new URL('dist/busgate.cdx.json', root), list)
} finally {
  rmSync(work, { recursive: true })
}
