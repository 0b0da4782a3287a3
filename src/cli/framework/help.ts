import type { CliCommand, CommandList } from './command.ts'

/** Writes what `busgate --help` says. */
export function overview(commands: CommandList): string {
  const rows = Object.entries(commands).flatMap(([name, { summary }]): Row[] => (summary ? [[name, summary]] : []))
  return [
    'Usage: busgate COMMAND [FLAGS]',
    '',
    ...table(rows),
    '',
    'busgate COMMAND --help describes a command; busgate --version prints the version.',
    'Settings come from --config FILE or BUSGATE_CONFIG, and from variables such as BUSGATE_KAFKA_BROKERS;',
    'busgate config explain NAME describes one.',
  ].join('\n')
}

/** Writes what `busgate COMMAND --help` says. */
export function commandHelp(name: string, { about, flags }: CliCommand): string {
  const rows = Object.entries(flags).map(
    ([flag, { value, help }]): Row => [`--${flag}${value === null ? '' : ` ${value}`}`, help],
  )
  const bare = Object.values(flags).find(flag => flag.bare)
  const usage = `Usage: busgate ${name}${bare ? ` [${bare.value}]` : ''}${rows.length > 0 ? ' [FLAGS]' : ''}`
  return [usage, '', about, ...(rows.length > 0 ? ['', ...table(rows)] : [])].join('\n')
}

type Row = [left: string, right: string]

function table(rows: Row[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd())
}
