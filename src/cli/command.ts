import { UsageError } from './usage-error.ts'

/** A flag of a command: what it takes and how that is read. */
export interface Flag<T> {
  /** Stands for the value in the help; null: the flag takes none. */
  value: string | null
  help: string
  /** Other names that it answers to. */
  also?: readonly string[]
  /** @throws Error that says what is expected; the flag's name is put before it. */
  read(text: string): T
}

export type Flags = Record<string, Flag<unknown>>

/** What was given, by the flags' names; a flag that was not given is left out. */
export type Values<F extends Flags> = { [K in keyof F]?: F[K] extends Flag<infer T> ? T : never }

export interface Command<F extends Flags = Flags> {
  /** What the command does, in whole sentences, at the top of its help. */
  about: string
  flags: F
  /** @returns the exit code */
  run(values: Values<F>): Promise<number>
}

/** A command, with its values' types taken from its flags. */
export function command<F extends Flags>(definition: Command<F>): Command {
  return definition as unknown as Command
}

export function toggle(help: string): Flag<true> {
  return { value: null, help, read: () => true }
}

export function text(value: string, help: string): Flag<string> {
  return { value, help, read: given => given }
}

export function whole(value: string, help: string, min: number, max: number): Flag<number> {
  const read = (given: string) => {
    const number = Number(given)
    if (/^\d+$/.test(given) && number >= min && number <= max) return number
    throw new UsageError(`expected a whole number from ${min} to ${max}`)
  }
  return { value, help, read }
}

export function choice<const T extends string>(value: string, values: readonly T[], help: string): Flag<T> {
  const read = (given: string) => {
    const found = values.find(one => one === given)
    if (found !== undefined) return found
    throw new UsageError(`expected one of ${values.join(', ')}`)
  }
  return { value, help: `${help} One of ${values.join(', ')}.`, read }
}

/** The same object without the keys whose value is undefined. */
export function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
