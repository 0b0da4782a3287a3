import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import type { TestContext } from 'vitest'
import type { Settings } from '../../src/config/index.ts'
import type { Brokers } from './integration.ts'

const root = join(import.meta.dirname, '../..')

/** The command that shows whether a language's tools are installed; null: needs only Node. */
const tools = {
  python: ['python3', '-m', 'pip', '--version'],
  java: ['mvn', '-v'],
  kafkajs: null,
} as const

export type Language = keyof typeof tools
export const languages = Object.keys(tools) as Language[]

export const exampleFolder = (name: string) => join(root, 'examples', name)
export const analyticsFolder = join(root, 'analytics')

/** The shell commands in an example's README. */
export function commandsOf(name: string): string[] {
  const text = readFileSync(join(exampleFolder(name), 'README.md'), 'utf8')
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trim().split('\n'))
}

/**
 * Installs the dependencies of a language's example programs. Without the language's tools it skips the test and says which
 * is missing; with CI=true it fails.
 * @returns environment variables for the programs
 */
export async function prepare(
  language: Language,
  { skip }: Pick<TestContext, 'skip'>,
): Promise<Record<string, string>> {
  const tool = tools[language]
  if (tool === null) return {}
  const [program, ...args] = tool
  if (spawnSync(program, args).status !== 0) {
    const reason = `${tool.join(' ')} fails: install it to run the examples in ${language}`
    if (process.env.CI === 'true') throw new Error(reason)
    skip(reason)
  }
  if (language !== 'python') return {} // Maven fetches and builds as it runs the program
  const { stdout } = await promisify(execFile)(join(root, '.ci/examples-fetch'), [language])
  // Deprecation warnings of Python packages about each other are not ours.
  return { PYTHONPATH: `${stdout.trim()}:.`, PYTHONWARNINGS: 'ignore', PYTHONDONTWRITEBYTECODE: '1' }
}

/** Environment variables that point an example program at the topics of a world. */
export function exampleEnvironment({ brokers, registryUrl }: Brokers, { topics }: Settings): Record<string, string> {
  return {
    KAFKA_BROKERS: brokers.join(','),
    REGISTRY_URL: registryUrl,
    COMMANDS_TOPIC: topics.commands.at(-1)!,
    RESULTS_TOPIC: topics.results,
    STATUSES_TOPIC: topics.statuses,
  }
}

/** Runs a shell command in an example's folder. @returns standard output @throws Error with its standard error */
export async function runLine(
  name: string,
  line: string,
  io: { env: Record<string, string>; input?: string },
): Promise<string> {
  return (await outputOf(name, line, io)).stdout
}

export async function outputOf(
  name: string,
  line: string,
  { env, input = '' }: { env: Record<string, string>; input?: string },
): Promise<{ stdout: string; stderr: string }> {
  const options = { cwd: exampleFolder(name), env: { ...process.env, ...env }, timeout: 200_000 }
  const running = promisify(execFile)('sh', ['-c', line], options)
  running.child.stdin!.end(input)
  const { stdout, stderr } = await running
  return { stdout: stripVTControlCharacters(stdout), stderr: stripVTControlCharacters(stderr) }
}
