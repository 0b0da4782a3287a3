import type { Command } from './command.ts'
import { type CommandName, commands } from './commands.ts'
import { nearest } from './nearest.ts'
import { UsageError } from './usage-error.ts'

interface Found {
  name: string
  load: () => Promise<Command>
  /** What follows the command's name. */
  rest: string[]
}

/** The command that a command line begins with. @throws UsageError that names the nearest one */
export function findCommand(args: string[]): Found {
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(' ')
    if (Object.hasOwn(commands, name)) {
      return { name, load: commands[name as CommandName].load, rest: args.slice(length) }
    }
  }
  const words = args.slice(0, 2).filter(word => !word.startsWith('-'))
  const names = Object.keys(commands)
  const ofTheFirstWord = names.filter(name => name.startsWith(`${words[0]} `))
  const closest = nearest(words.join(' '), ofTheFirstWord.length > 0 ? ofTheFirstWord : names)
  throw new UsageError(
    `there is no command "${words.join(' ')}"; the nearest is "${closest}". busgate --help lists them all`,
  )
}
