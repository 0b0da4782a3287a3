import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { findCommand, parseFlags } from '../../src/cli/framework/parse.ts'
import { pathOfVariable } from '../../src/config/names.ts'
import { blocks, type Excerpt, quoted } from '../support/documents.ts'

const root = join(import.meta.dirname, '../..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Placeholders in documents, with a valid value of each. */
const placeholders: Record<string, string> = {
  'PARTITION@OFFSET': '0@1',
  N: '1001',
  ID: '1001',
  OPERATION: 'balance',
}

const shellBlocks = blocks.filter(({ language }) => language === 'sh')
/** The commands in all shell blocks; continued lines are joined. */
const shellLines = shellBlocks
  .filter(({ excuse }) => excuse === null)
  .flatMap(({ file, line, text }) =>
    text.split('\n').map((one, i): Excerpt => ({ file, line: line + i, text: one.trim() })),
  )
  .filter(({ text }) => text !== '' && !text.startsWith('#'))
const sentences = quoted.filter(({ text }) => /^(npx )?busgate [a-z]|^npm (run )?[a-z]/.test(text))

const named = ({ file, line, text }: Excerpt) => [`${file}:${line}`, text] as const

// On a busy machine, loading the modules of all commands takes longer than the time-out of one test.
beforeAll(() => Promise.all(Object.values(commands).map(({ load }) => load())), 300_000)

describe('each command in the documents is valid as written', () => {
  test.each([...shellLines, ...sentences].map(named))('%s: %s', async (_, line) => {
    for (const words of commandsIn(line)) await check(words)
  })
})

test.each(
  quoted.filter(({ file, text }) => file.startsWith('docs/runbooks/') && /^busgate tail /.test(text)).map(named),
)('the command in %s ends by itself: %s', async (_, line) => {
  const [words = []] = commandsIn(line)
  expect(await valuesOf(words.slice(1))).toHaveProperty('until-end', true)
})

test('each command in messages and help texts exists', () => {
  const families = new Set(Object.keys(commands).map(name => name.split(' ')[0]!))
  const hints = globSync('src/**/*.ts', { cwd: root }).flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bbusgate ([a-z]+)(?: ([a-z-]+))?/g)].flatMap(
      ([hint, first, second]) =>
        families.has(first!)
          ? [{ file, hint, isThere: [first, `${first} ${second}`].some(name => Object.hasOwn(commands, name!)) }]
          : [],
    ),
  )
  expect(hints.length).toBeGreaterThan(20)
  expect(hints.filter(({ isThere }) => !isThere)).toEqual([])
})

test('each command is in a document; of those for one operation or topic, any', () => {
  const names = new Set(Object.keys(commands).map(name => name.replace(/^(gateway|tail) .*/, '$1')))
  const shown = [...shellLines, ...sentences]
    .flatMap(({ text }) => commandsIn(text))
    .map(words => ` ${words.join(' ')} `)
  expect([...names].filter(name => !shown.some(line => line.includes(` ${name} `)))).toEqual([])
})

test('each variable in the documents belongs to a setting', () => {
  const variables = [...quoted, ...shellLines].flatMap(({ file, line, text }) =>
    [...text.matchAll(/\bBUSGATE_[A-Z_]+[A-Z]/g)].map(([name]) => ({ where: `${file}:${line}`, name })),
  )
  const unknown = variables.filter(
    ({ name }) => name !== 'BUSGATE_CONFIG' && !pathOfVariable(name.replace(/_TYPE$/, '_SMS')),
  )
  expect(unknown).toEqual([])
})

test('every unchecked code block says why in the line before it', () => {
  const checked = ['ts', 'sh', 'text', 'mermaid'] // test/package compiles the TypeScript; text and mermaid are not code
  expect(blocks.filter(({ language, excuse }) => !checked.includes(language) && excuse === null)).toEqual([])
  expect(shellBlocks.length).toBeGreaterThan(5)
  expect(sentences.length).toBeGreaterThan(50)
})

/** The words of each command in a line, without variables and comments. */
function commandsIn(line: string): string[][] {
  const found: string[][] = [[]]
  for (const [word] of line.replace(/(^| )# .*$/, '').matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    if (word === '&&' || word === '|') found.push([])
    else found.at(-1)!.push(word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one, other) => one ?? other))
  }
  return found.map(words =>
    words.slice(
      Math.max(
        0,
        words.findIndex(word => !/^[A-Z_]+=/.test(word)),
      ),
    ),
  )
}

/** Checks one command. @throws Error that says what is wrong with it */
async function check([program = '', ...args]: string[]): Promise<void> {
  if (program === 'npx') return check(args)
  if (program === 'busgate') return void (await valuesOf(args))
  if (program === 'npm') return checkScript(args)
  if (program !== 'export')
    throw new Error(`${program} cannot be checked: put <!-- not checked: WHY --> before the block`)
  expect(args.join()).toMatch(/^[A-Z_]+=./) // another test checks the variables
}

async function checkScript([command = '', name = '', dashes, ...args]: string[]): Promise<void> {
  if (command !== 'run') {
    expect(['ci', 'test', 'link', 'install', 'pack', 'version', 'publish']).toContain(command)
    return
  }
  expect(Object.keys(scripts)).toContain(name)
  if (dashes !== undefined) expect(dashes).toBe('--')
  if (name === 'cli') await valuesOf(args)
  if (name === 'demo') await valuesOf(['demo', ...args])
}

/** Parses the words as the command line does. @throws UsageError */
async function valuesOf(words: string[]): Promise<Record<string, unknown>> {
  const given = words.map(word => placeholders[word] ?? word)
  const isFamily = Object.keys(commands).some(name => name.startsWith(`${given.join(' ')} `))
  if (isFamily || given.join() === '--help') return {}
  const { name, load, rest } = findCommand(commands, given)
  return parseFlags(name, (await load()).flags, rest).values
}
