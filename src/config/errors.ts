/** One thing that is wrong with the settings. Holds no value that was given: it could be a secret. */
export interface Problem {
  /** Path of the setting, such as `gateway.maxOperations`. */
  path: string
  /** Where it was given or is to be given: a variable's name, `file:line`, or `code`. */
  where: string
  what: string
  example?: string
}

/** The settings cannot be used. `problems` and the message name all of them at once; correct them and start again. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'SETTINGS_INVALID'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    const title = problems.length === 1 ? '1 setting is wrong:' : `${problems.length} settings are wrong:`
    super([title, ...problems.map(line)].join('\n'))
    this.problems = problems
  }
}

function line({ path, where, what, example }: Problem): string {
  return `  ${path} (${where}): ${what}.${example === undefined ? '' : ` Example: ${example}`}`
}
