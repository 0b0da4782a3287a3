import { readFile, stat } from 'node:fs/promises'
import { type GivenSecret, givenSecrets, loadSettings, SettingsError, variableOf } from '../../config/index.ts'
import { runnableSettings } from '../settings.ts'
import { check, type Facts, type Finding, failed, ok, skipped, warning } from './check.ts'

export const settings = check({
  name: 'settings',
  about: 'The settings, as `busgate config check` does: errors, and settings that `busgate run` needs.',
  needs: [],
  async look(_facts, sources) {
    try {
      const loaded = runnableSettings(sources)
      return { findings: [ok(`valid, for the roles ${loaded.roles.join(', ')}`)], facts: { settings: loaded } }
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      return { findings: error.problems.map(finding), facts: usable() }
    }

    /** Reads settings that can be used: a missing one is no reason not to look at the rest. */
    function usable(): Partial<Facts> {
      try {
        return { settings: loadSettings(sources) }
      } catch {
        return {}
      }
    }
  },
})

function finding({ path, where, variable, what, example }: SettingsError['problems'][number]): Finding {
  const mend = example === undefined ? 'busgate config check' : `${variable ?? path}=${example}, for example`
  return { state: 'failed', what: `${path} (${where}): ${what}`, mend }
}

const readableByAll = 0o004
const writableByOthers = 0o022

export const secrets = check({
  name: 'secrets',
  about: 'Every given secret: its file can be read, is not empty, and others can neither read nor change it.',
  needs: [],
  async look(_facts, sources) {
    const given = givenSecrets(sources)
    if (given.length === 0) return { findings: [skipped('none is given')] }
    return {
      findings: await Promise.all(given.map(secret => (secret.file === null ? ofText(secret) : ofFile(secret)))),
    }
  },
})

async function ofText({ path, where }: GivenSecret): Promise<Finding> {
  const file = /^(.+):\d+$/.exec(where)?.[1]
  const told = `${path} is given in ${where}`
  if (!file) return ok(told)
  return complaint(told, file, (await stat(file)).mode) ?? ok(told)
}

/** A file that is not there is not named: it may be the secret itself, given in the wrong place. */
async function ofFile({ path, where, file }: GivenSecret): Promise<Finding> {
  const variable = variableOf(`${path}File`)
  try {
    const content = await readFile(file!, 'utf8')
    const told = `${path} is in ${file}`
    if (content.trim() === '') return failed(`${told}, and that file is empty`, `write the secret to ${file}`)
    return complaint(told, file!, (await stat(file!)).mode) ?? ok(told)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const mend = code === 'EACCES' ? `let the user that runs busgate read it` : `name an existing file in ${variable}`
    return failed(`${path}: the file that ${where} names cannot be read (${code})`, mend)
  }
}

function complaint(told: string, file: string, mode: number): Finding | null {
  if (process.platform === 'win32') return null
  if (mode & writableByOthers) return warning(`${told}, which others can change`, `chmod go-w ${file}`)
  if (mode & readableByAll) return warning(`${told}, which everybody on this machine can read`, `chmod o-r ${file}`)
  return null
}
