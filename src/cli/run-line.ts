import { brokersHint, SettingsError } from '../config/errors.ts'
import { commands } from './commands.ts'
import { commandHelp, commandTable, groupHelp, overview, UsageError } from './framework/command.ts'
import { findCommand, groupOf, parseFlags } from './framework/parse.ts'
import { printableLines } from './framework/terminal.ts'

/** Runs a command line. @returns the exit code */
export async function runLine(args: string[]): Promise<number> {
  try {
    return await dispatch(args)
  } catch (error) {
    process.stderr.write(`busgate: ${printableLines((error as Error).message)}${hintOf(error as Error)}\n`)
    return error instanceof UsageError || error instanceof SettingsError ? 2 : 1
  }
}

/** Says what to check for errors whose message does not. */
function hintOf({ name, syscall }: NodeJS.ErrnoException): string {
  if (syscall === 'mkdtemp') return ': set TMPDIR to a folder that can be written'
  return /^(BusUnavailable|KafkaJS|Unanswered|ProtocolError)/.test(name) ? `: ${brokersHint}` : ''
}

async function dispatch(args: string[]): Promise<number> {
  const [first, ...others] = args
  if (first === undefined) throw new UsageError(`a command is missing.\n\n${overview(commands)}`)
  if (first === '--help' || first === '-h') return print(overview(commands))
  if (first === 'help') return dispatch([...others.filter(one => !one.startsWith('-')), '--help'])
  if (first === '--version' || first === '-v') return print((await import('../package.ts')).version)
  if (first === 'complete' && others[0] === '--') {
    return (await import('./completion/candidates.ts')).printCandidates(commands, others.slice(1))
  }
  const group = groupOf(commands, args)
  if (group !== null) {
    if (args.includes('--help') || args.includes('-h')) return print(groupHelp(commands, group))
    throw new UsageError(`${group} needs one of its commands.\n\n${commandTable(commands, group).join('\n')}`)
  }
  const { name, load, rest } = findCommand(commands, args)
  const command = await load()
  const parsed = parseFlags(name, command.flags, rest)
  return parsed.help ? print(commandHelp(name, command)) : command.run(parsed.values)
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}
