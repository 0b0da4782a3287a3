/** One thing that is wrong with the settings. Holds no value that was given: it could be a secret. */
export interface SettingProblem {
  /** Path of the setting, such as `gateway.maxOperations`. */
  path: string
  /** Where it was given or is to be given: a variable's name, `file:line`, or `code`. */
  where: string
  /** The variable that sets it; missing where the path is no setting's. */
  variable?: string
  what: string
  example?: string
}

/** The settings cannot be used. `problems` and the message name all of them at once; correct them and start again. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'SETTINGS_INVALID'
  readonly #problems: readonly SettingProblem[]

  constructor(problems: readonly SettingProblem[]) {
    const title = problems.length === 1 ? '1 setting is wrong:' : `${problems.length} settings are wrong:`
    super([title, ...problems.map(line)].join('\n'))
    this.#problems = problems
  }

  /** A getter, so that Node, which prints an uncaught error with its fields, does not name everything twice. */
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

/** Tells where it was given, and the variable that sets it. */
function placesOf({ where, variable }: SettingProblem): string {
  return variable === undefined || where.includes(variable) ? where : `${where}; variable ${variable}`
}
