import type { CliCommand, CommandList } from './command.ts'
import { nearest } from './nearest.ts'
import { UsageError } from './usage-error.ts'

interface Found {
  name: string
  load: () => Promise<CliCommand>
  /** What follows the command's name. */
  rest: string[]
}

/** The command that a command line begins with. @throws UsageError that names the nearest one */
export function findCommand(commands: CommandList, args: string[]): Found {
  const [first = '', second = '-'] = args
  const words = second.startsWith('-') ? [first] : [first, second]
  const names = Object.keys(commands)
  const ofTheFirstWord = names.filter(name => name.startsWith(`${first} `))
  const name = ofTheFirstWord.length > 0 ? words.join(' ') : first
  if (Object.hasOwn(commands, name)) {
    return { name, load: commands[name]!.load, rest: args.slice(name.split(' ').length) }
  }
  const closest = nearest(words.join(' '), ofTheFirstWord.length > 0 ? ofTheFirstWord : names)
  throw new UsageError(
    `there is no command "${words.join(' ')}"; the nearest is "${closest}". busgate --help lists them all`,
  )
}
