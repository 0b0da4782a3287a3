import { type CommandList, type Flag, type Flags, helpFlag } from '../framework/command.ts'

interface Candidate {
  value: string
  about: string
}

/** Printed instead of candidates where the shell should complete the name of a file. */
const filesMark = ':files'

/**
 * Prints what the last word of a command line may become, for the scripts of `busgate completion`: a line each, with a tab
 * before its description.
 * @returns the exit code
 */
export async function printCandidates(commands: CommandList, line: readonly string[]): Promise<number> {
  const found = await candidatesFor(commands, line)
  const lines = found === 'files' ? [filesMark] : found.map(({ value, about }) => `${value}\t${about}`)
  process.stdout.write(lines.map(one => `${one}\n`).join(''))
  return 0
}

async function candidatesFor(commands: CommandList, line: readonly string[]): Promise<Candidate[] | 'files'> {
  const words = withoutSplits(line)
  const current = words.pop() ?? ''
  const isHelp = words[0] === 'help'
  const before = isHelp ? words.slice(1) : words
  const next = nextWords(commands, before, current)
  if (isHelp || next.length > 0) return next
  if (before.length === 0)
    return starting(current, [
      { value: 'help', about: 'Describes a command.' },
      { value: '--help', about: 'Lists the commands.' },
      { value: '--version', about: 'Prints the version.' },
    ])
  const name = [before.slice(0, 2).join(' '), before[0]!].find(one => Object.hasOwn(commands, one))
  if (name === undefined) return []
  const { flags } = await commands[name]!.load()
  const given = before.slice(name.split(' ').length)
  const found = ofFlags({ ...flags, help: helpFlag }, given, current)
  const isSplit = line.at(-1) === '=' || line.at(-2) === '='
  if (found === 'files' || !isSplit) return found
  return found.map(({ value, about }) => ({ value: value.slice(current.indexOf('=') + 1), about }))
}

/** bash makes three words of `--flag=value`. */
function withoutSplits(line: readonly string[]): string[] {
  const words: string[] = []
  for (const [i, word] of line.entries()) {
    const joins = word === '=' || line[i - 1] === '='
    if (joins && words.length > 0) words.push(words.pop()! + word)
    else words.push(word)
  }
  return words
}

/** The words that may follow in the name of a command. */
function nextWords(commands: CommandList, before: readonly string[], current: string): Candidate[] {
  const followed = before.map(word => `${word} `).join('')
  const rests = Object.keys(commands).flatMap(name => (name.startsWith(followed) ? [name.slice(followed.length)] : []))
  const values = [...new Set(rests.map(rest => rest.split(' ')[0]!))]
  const about = (value: string) =>
    commands[followed + value]?.summary ??
    rests.flatMap(rest => (rest.startsWith(`${value} `) ? [rest.slice(value.length + 1)] : [])).join(', ')
  return starting(
    current,
    values.map(value => ({ value, about: about(value) })),
  )
}

/** The flags of a command that are not given yet, or the values of one. */
function ofFlags(flags: Flags, given: readonly string[], current: string): Candidate[] | 'files' {
  const [, inline] = /^--([^=]+)=/.exec(current) ?? []
  const [, waiting] = /^--([^=]+)$/.exec(given.at(-1) ?? '') ?? []
  if (inline !== undefined) return valuesOf(flags[inline], current, `--${inline}=`)
  if (waiting !== undefined && flags[waiting] && flags[waiting].value !== null) return valuesOf(flags[waiting], current)
  const bare = Object.values(flags).find(flag => flag.bare && flag.values)
  if (bare && !current.startsWith('-')) return valuesOf(bare, current)
  const names = Object.keys(flags).filter(name => !given.some(one => one.split('=')[0] === `--${name}`))
  return starting(
    current,
    names.map(name => ({ value: `--${name}`, about: flags[name]!.help.split('. ')[0]! })),
  )
}

function valuesOf(flag: Flag<unknown> | undefined, current: string, prefix = ''): Candidate[] | 'files' {
  const values = flag?.values?.() ?? []
  return values === 'files'
    ? values
    : starting(
        current,
        values.map(value => ({ value: prefix + value, about: '' })),
      )
}

const starting = (current: string, candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ value }) => value.startsWith(current))
