import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import type { TestContext } from 'vitest'
import type { Settings } from '../../src/config/index.ts'
import type { Brokers } from './integration.ts'

const root = join(import.meta.dirname, '../..')

/** What a machine needs to run the programs of a language; Node is there. */
const tools = {
  python: ['python3', '-m', 'pip', '--version'],
  java: ['mvn', '-v'],
  kafkajs: null,
} as const

export type Language = keyof typeof tools
export const languages = Object.keys(tools) as Language[]

export const exampleFolder = (name: string) => join(root, 'examples', name)

/** The lines of shell in an example's README. */
export function commandsOf(name: string): string[] {
  const text = readFileSync(join(exampleFolder(name), 'README.md'), 'utf8')
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trim().split('\n'))
}

/**
 * Skips the test where this machine lacks a tool of the language, and says which; with CI=true it fails. Else what
 * the programs import is there when this resolves.
 * @returns the variables that their programs need
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
  // Warnings of what Python's packages deprecate in each other are none of ours.
  return { PYTHONPATH: `${stdout.trim()}:.`, PYTHONWARNINGS: 'ignore', PYTHONDONTWRITEBYTECODE: '1' }
}

/** Where a program finds the topics of a world. */
export function placesOf({ brokers, registryUrl }: Brokers, { topics }: Settings): Record<string, string> {
  return {
    KAFKA_BROKERS: brokers.join(','),
    REGISTRY_URL: registryUrl,
    COMMANDS_TOPIC: topics.commands.at(-1)!,
    RESULTS_TOPIC: topics.results,
    STATUSES_TOPIC: topics.statuses,
  }
}

/** Runs a line of shell in the folder of an example. @throws Error with what it wrote to standard error */
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
