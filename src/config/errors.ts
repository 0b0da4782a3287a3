/** One invalid or missing setting. Contains no value, which could be a secret. */
export interface SettingProblem {
  /** Path of the setting, such as `gateway.maxOperations`. */
  path: string
  /** Where it was given or should be given: a variable's name, `file:line`, or `code`. */
  where: string
  /** The variable that sets it; undefined if the path is not a setting. */
  variable?: string
  what: string
  example?: string
}

/** What to check when no broker answers. */
export const brokersHint =
  'check kafka.brokers (BUSGATE_KAFKA_BROKERS) and the other kafka.* settings; busgate doctor says more'

/** The settings are invalid. `problems` and the message name every problem; correct them and start again. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'SETTINGS_INVALID'
  readonly #problems: readonly SettingProblem[]

  constructor(problems: readonly SettingProblem[]) {
    const title = problems.length === 1 ? '1 setting is wrong:' : `${problems.length} settings are wrong:`
    super([title, ...problems.map(line)].join('\n'))
    this.#problems = problems
  }

  /** A getter, because Node prints an uncaught error's fields and would repeat the message. */
  get problems(): readonly SettingProblem[] {
    return this.#problems
  }
}

function line(problem: SettingProblem): string {
  const { path, what, example } = problem
  const places = placesOf(problem)
  const name = places === path ? path : `${path} (${places})`
  return `  ${name}: ${what}.${example === undefined ? '' : ` Example: ${example}`}`
}

/** Where it was given, and the variable that sets it. */
function placesOf({ where, variable }: SettingProblem): string {
  return variable === undefined || where.includes(variable) ? where : `${where}; variable ${variable}`
}
