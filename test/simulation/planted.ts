import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = fileURLToPath(new URL('planted', import.meta.url))
/** What a run needs of the project. */
const parts = ['src', 'schemas', 'test/simulation', 'test/support/commands.ts', 'scripts/simulate.ts', 'package.json']

/** A bug that was put into a copy of the source on purpose, to see whether the simulation finds it. */
export interface PlantedBug {
  name: string
  /** What the patch breaks, in a sentence: its first line. */
  what: string
}

export interface Finding {
  bug: PlantedBug
  /** Whether a seed was found. */
  found: boolean
  /** The failing seed and its violation as the run told them, or what went wrong. */
  says: string
}

export function plantedBugs(): PlantedBug[] {
  return readdirSync(folder)
    .filter(file => file.endsWith('.patch'))
    .sort()
    .map(file => ({
      name: file.slice(0, -'.patch'.length),
      what: readFileSync(join(folder, file), 'utf8').split('\n')[0]!,
    }))
}

export const patchOf = (name: string): string => join(folder, `${name}.patch`)

/** Applies the patch to a temporary copy, and lets seeds run there until one fails. */
export async function findPlanted(bug: PlantedBug, seeds: number): Promise<Finding> {
  const copy = mkdtempSync(join(tmpdir(), 'busgate-planted-'))
  try {
    for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const applied = await run('git', ['apply', '-C1', '--recount', patchOf(bug.name)], copy)
    if (applied.code !== 0)
      return { bug, found: false, says: `the patch does not fit the source any more: ${applied.output}` }
    const { code, output } = await run(process.execPath, ['scripts/simulate.ts', '--seeds', String(seeds)], copy)
    const [first = ''] = output.split('\n')
    const seed = code === 1 ? first.match(/^seed (\d+):/)?.[1] : undefined
    if (!seed) return { bug, found: false, says: first }
    const unplanted = await run(process.execPath, ['scripts/simulate.ts', '--seed', seed], root)
    if (unplanted.code !== 0) return { bug, found: false, says: `without the bug seed ${seed} fails, too` }
    return { bug, found: true, says: first }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function run(command: string, args: readonly string[], cwd: string): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(cwd) }
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk
      })
    }
    child.on('error', reject)
    child.on('close', code => resolve({ code, output: output.trim() }))
  })
}
