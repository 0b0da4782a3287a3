import { idIn } from '../../protocol/ids.ts'

/** An invalid command line: exit code 2. The message says what is wrong and what would be right. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A flag of a command. */
export interface Flag<T> {
  /** Placeholder of the value in the help; null for a flag without a value. */
  value: string | null
  help: string
  /** Whether the value may be given without the flag's name; at most one flag of a command. */
  bare?: true
  /** Values to complete in a shell; `files`: names of files. */
  values?: () => readonly string[] | 'files'
  /** @throws Error that says what is expected; the caller adds the flag's name */
  read(text: string): T
}

export type Flags = Record<string, Flag<unknown>>

/** Given values by flag name; flags that were not given are absent. */
export type FlagValues<F extends Flags> = { [K in keyof F]?: F[K] extends Flag<infer T> ? T : never }

export interface CliCommand<F extends Flags = Flags> {
  /** What the command does, in full sentences; the beginning of its help. */
  about: string
  flags: F
  /** @returns the exit code */
  run(values: FlagValues<F>): Promise<number>
}

/** Defines a command; infers the types of its values from its flags. */
export function command<F extends Flags>(definition: CliCommand<F>): CliCommand {
  return definition as unknown as CliCommand
}

export function toggle(help: string): Flag<true> {
  return { value: null, help, read: () => true }
}

export const helpFlag = toggle('Shows this help.')

export function textFlag(value: string, help: string): Flag<string> {
  return { value, help, read: given => given }
}

/** A command id, 1 to 2^63-1. */
export function idFlag(help: string): Flag<bigint> {
  const read = (given: string) => {
    const id = idIn(given)
    if (id !== null) return id
    throw new UsageError('expected an id, a whole number from 1 to 9223372036854775807')
  }
  return { value: 'ID', help, read }
}

export function whole(value: string, help: string, min: number, max: number): Flag<number> {
  const read = (given: string) => {
    const number = Number(given)
    if (/^\d+$/.test(given) && number >= min && number <= max) return number
    throw new UsageError(`expected a whole number from ${min} to ${max}`)
  }
  return { value, help, read }
}

export function choiceFlag<const T extends string>(value: string, values: readonly T[], help: string): Flag<T> {
  const read = (given: string) => {
    const found = values.find(one => one === given)
    if (found !== undefined) return found
    throw new UsageError(`expected one of ${values.join(', ')}`)
  }
  return { value, help: `${help} One of ${values.join(', ')}.`, read, values: () => values }
}

/** Copies an object without undefined values. */
export function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}

/** Commands by their name on the command line, in the order of the help. */
export type CommandList = Readonly<
  Record<
    string,
    {
      /** One line for the list of commands; null to hide it. */
      summary: string | null
      /** Loads the command when it runs, so that for example the sandbox loads no Kafka client. */
      load: () => Promise<CliCommand>
    }
  >
>

/** One line for each command. @param group only those whose name begins with this word */
export function commandTable(commands: CommandList, group?: string): string[] {
  const listed = Object.entries(commands).filter(([name]) => group === undefined || name.startsWith(`${group} `))
  return table(listed.flatMap(([name, { summary }]): Row[] => (summary ? [[name, summary]] : [])))
}

/** The text of `busgate --help`. */
export function overview(commands: CommandList): string {
  return [
    'Usage: busgate COMMAND [FLAGS]',
    '',
    ...commandTable(commands),
    '',
    'busgate COMMAND --help or busgate help COMMAND describes a command; busgate --version or -v prints the version.',
    'Settings come from --config FILE or BUSGATE_CONFIG, and from variables such as BUSGATE_KAFKA_BROKERS;',
    'busgate config explain NAME describes one.',
    'Exit codes: 0 done, 1 failed or refused, 2 wrong flags or settings (nothing was done),',
    '3 something is held back (busgate status --exit-code), 130 interrupted.',
  ].join('\n')
}

/** The text of `busgate GROUP --help`, of commands whose names begin with the same word. */
export function groupHelp(commands: CommandList, group: string): string {
  const usage = `Usage: busgate ${group} COMMAND [FLAGS]`
  return [usage, '', ...commandTable(commands, group), '', `busgate ${group} COMMAND --help describes one.`].join('\n')
}

/** The text of `busgate COMMAND --help`. */
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
