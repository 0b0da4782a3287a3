import type { z } from 'zod'
import { definitions, type Setting, type SettingPath } from './definitions.ts'
import type { SettingProblem } from './errors.ts'
import type { GivenValue } from './layers.ts'
import { hasPlaceholder, variableOf } from './names.ts'
import { Secret, secretFromFile } from './secret.ts'
import type { CheckedValues } from './types.ts'

/**
 * Validates each setting on its own.
 * @param given at most one value for each path and each `…File` twin
 * @returns `failed`: the settings with an invalid value; `values` has their defaults
 */
export function checkSettings(given: readonly GivenValue[]) {
  const values: Partial<Record<SettingPath, unknown>> = {}
  const problems: SettingProblem[] = []
  for (const setting of Object.keys(definitions) as SettingPath[]) {
    const mine = given.filter(one => one.setting === setting)
    if (!hasPlaceholder(setting)) {
      values[setting] = checkOne(definitions[setting], mine, problems)
      continue
    }
    const byKey = Map.groupBy(mine, one => one.key!)
    values[setting] = new Map([...byKey].map(([key, its]) => [key, checkOne(definitions[setting], its, problems)]))
  }
  const failed = new Set(problems.flatMap(problem => given.find(one => one.path === problem.path)?.setting ?? []))
  return { values: values as CheckedValues, problems, failed }
}

function checkOne(setting: Setting, given: GivenValue[], problems: SettingProblem[]): unknown {
  const [one, twin] = given
  const fallback = setting.default === undefined ? undefined : setting.type.parse(setting.default)
  if (!one) return fallback
  const { path: written, where } = one
  const variable = variableOf(one.isFile ? `${written}File` : written)
  if (twin) {
    const what = `give either the secret or its file, not both (also in ${twin.where})`
    problems.push({ path: written, where, variable, what })
    return fallback
  }
  const parse = (value: unknown) => {
    const parsed = parseWith(setting.type, value)
    if (setting.secret) warnOfEdges(written, parsed)
    return parsed
  }
  try {
    if (one.isFile) return secretFromFile(`${written}File`, String(one.value), bytes => parse(textIn(bytes)), reason)
    const value = parse(one.value)
    return setting.secret ? new Secret(() => value) : value
  } catch (error) {
    if (one.isFile) problems.push({ path: written, where, variable, what: `cannot use the file: ${reason(error)}` })
    else problems.push({ path: written, where, variable, what: reason(error), example: setting.example })
    return fallback
  }
}

class Refused extends Error {}

/** @throws Refused with all violations, but without the value */
function parseWith(type: z.ZodType, value: unknown): unknown {
  const result = type.safeParse(value)
  if (result.success) return result.data
  throw new Refused(result.error.issues.map(described).join('; '))
}

/** The text of a secret's file: UTF-8, or what Windows calls Unicode. What is neither becomes U+FFFD, which no secret may have. */
function textIn(bytes: Buffer): string {
  const mark = bytes.toString('hex', 0, 2)
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}

/** Settings of which `warnOfEdges` has warned. */
const warned = new Set<string>()

/** Warns of a blank, or something that looks like one or like nothing, around a secret: it counts, but seldom belongs to it. */
function warnOfEdges(path: string, value: unknown): void {
  if (typeof value !== 'string' || !/^[\s\p{C}]|[\s\p{C}]$/u.test(value) || warned.has(path)) return
  warned.add(path)
  process.emitWarning(
    `${path} begins or ends with a blank, which counts as a part of the secret: remove it if it is none`,
  )
}

function described({ path, message }: z.core.$ZodIssue): string {
  if (path.length === 0) return message
  return `${path.map(part => (typeof part === 'number' ? `item ${part + 1}` : String(part))).join(', ')}: ${message}`
}

/** Why a value is invalid. Leaves out the path of a file: it may be the secret itself, given in the wrong place. */
function reason(error: unknown): string {
  if (error instanceof Refused) return error.message
  const { code = 'it cannot be read' } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'there is none at the given path, which is not shown, as it could be the secret' : code
}
