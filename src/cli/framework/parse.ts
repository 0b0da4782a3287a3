import { parseArgs } from 'node:util'
import { nearest, nearestOr } from '../../nearest.ts'
import { type CommandList, type Flags, helpFlag, UsageError } from './command.ts'

/** Parses the arguments after a command's name. @throws UsageError */
export function parseFlags(commandName: string, own: Flags, args: string[]) {
  const flags: Flags = { ...own, help: helpFlag }
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { value }]) => [
      name,
      { type: value === null ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  Object.assign(options.help!, { short: 'h' })
  // not strict, because the parser's own messages suggest no similar name
  const { tokens } = parseArgs({
    args,
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const values: Record<string, unknown> = {}
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    const bare = token.kind === 'positional' ? bareFlag(flags, values) : undefined
    if (token.kind === 'positional' && bare) {
      values[bare] = read(flags[bare]!.value!, flags[bare]!, token.value)
      continue
    }
    if (token.kind === 'positional') {
      throw new UsageError(`${commandName} takes no "${token.value}": its flags are ${listed(flags)}`)
    }
    const { name, rawName, value, inlineValue } = token
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined
    if (!flag) throw new UsageError(`${commandName} has no ${rawName}; ${nearestFlag(name, flags)}`)
    const missing = value === undefined || (!inlineValue && value.startsWith('-'))
    if (flag.value === null && value !== undefined) throw new UsageError(`${rawName} takes no value`)
    if (flag.value !== null && missing) throw new UsageError(`${rawName} needs a value: ${rawName} ${flag.value}`)
    values[name] = read(rawName, flag, value ?? '')
  }
  return { help: values.help === true, values }
}

function read(rawName: string, flag: Flags[string], value: string): unknown {
  try {
    // Node replaces each byte that is not UTF-8 by U+FFFD
    if (value.includes('\ufffd')) throw new UsageError('expected UTF-8: set the terminal to UTF-8')
    return flag.read(value)
  } catch (error) {
    throw new UsageError(`${rawName}: ${(error as Error).message}`)
  }
}

/** The flag for a value without a name, unless it is set already. */
function bareFlag(flags: Flags, values: Record<string, unknown>): string | undefined {
  return Object.keys(flags).find(name => flags[name]!.bare && !Object.hasOwn(values, name))
}

function nearestFlag(name: string, flags: Flags): string {
  const known = Object.keys(flags).map(flag => `--${flag}`)
  return nearestOr(name, known, `its flags are ${listed(flags)}`)
}

function listed(flags: Flags): string {
  return Object.keys(flags)
    .map(name => `--${name}`)
    .join(', ')
}

/** The group of a command line that names none of the group's commands; otherwise null. */
export function groupOf(commands: CommandList, [first = '', second = '-']: string[]): string | null {
  const isGroup = Object.keys(commands).some(name => name.startsWith(`${first} `)) && !Object.hasOwn(commands, first)
  return isGroup && second.startsWith('-') ? first : null
}

/**
 * Finds the command of a command line.
 * @returns `rest`: the arguments after its name
 * @throws UsageError that suggests the nearest one
 */
export function findCommand(commands: CommandList, args: string[]) {
  const [first = '', second = '-'] = args
  const words = second.startsWith('-') ? [first] : [first, second]
  const names = Object.keys(commands)
  const ofTheFirstWord = names.filter(name => name.startsWith(`${first} `))
  const name = ofTheFirstWord.length > 0 ? words.join(' ') : first
  if (Object.hasOwn(commands, name)) {
    return { name, load: commands[name]!.load, rest: args.slice(name.split(' ').length) }
  }
  const isGroup = ofTheFirstWord.length > 0
  const lists = `busgate ${isGroup ? `${first} ` : ''}--help lists them all`
  const known = (isGroup ? ofTheFirstWord : [...names, 'help']).map(one => `"${one}"`)
  const near = nearest(words.join(' '), known) ?? (isGroup ? null : nearest(first, known))
  throw new UsageError(
    `there is no command "${isGroup ? words.join(' ') : first}"; ${near === null ? '' : `the nearest is ${near}. `}${lists}`,
  )
}
