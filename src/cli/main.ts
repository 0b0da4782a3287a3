import { SettingsError } from '../config/errors.ts'
import { commands } from './commands.ts'
import { commandHelp, overview, UsageError } from './framework/command.ts'
import { findCommand, parseFlags } from './framework/parse.ts'
import { printableLines } from './framework/terminal.ts'

/** Longest time that the process waits for resources that a library left open, such as a connection's timer. */
const lingerMs = 1000

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0) // the reader has closed the pipe, as `head` does
  throw error
})

// hides a warning of kafkajs, which sets timers in the past; users can do nothing about it
const [printWarning] = process.listeners('warning')
process.removeAllListeners('warning').on('warning', warning => {
  if (warning.name !== 'TimeoutNegativeWarning') printWarning?.(warning)
})

process.exitCode = await main(process.argv.slice(2))
setTimeout(() => process.exit(), lingerMs).unref()

/** Runs a command line. @returns the exit code */
async function main(args: string[]): Promise<number> {
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
  return /^(BusUnavailable|KafkaJS|Unanswered|ProtocolError)/.test(name)
    ? ': check kafka.brokers (BUSGATE_KAFKA_BROKERS) and the other kafka.* settings; busgate doctor says more'
    : ''
}

async function dispatch(args: string[]): Promise<number> {
  const [first] = args
  if (first === undefined) throw new UsageError(`a command is missing.\n\n${overview(commands)}`)
  if (first === '--help' || first === '-h') return print(overview(commands))
  if (first === '--version') return print((await import('../package.ts')).version)
  const { name, load, rest } = findCommand(commands, args)
  const command = await load()
  const parsed = parseFlags(name, command.flags, rest)
  return parsed.help ? print(commandHelp(name, command)) : command.run(parsed.values)
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}
