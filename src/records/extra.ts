import { isObject, parseJson, stringifyJson } from '../protocol/json.ts'

type Fields = Record<string, unknown>

/** The result of reading `extra`. */
interface Extra {
  /** JSON of the additional properties, each with a leading comma. */
  text: string
  fields: Fields
  error: string | null
}

/** What `extra` may set in a message. */
export interface ExtraRules {
  /** Names that it must not use, because the command has fields for them. */
  taken: ReadonlySet<string>
  /** Object fields. `extra` may set one that is null, or add missing properties to another. */
  objects: ReadonlySet<string>
}

/** Most characters of all names and values. Parsing 2 MiB of long numbers or empty lists takes more than a second. */
const longestExtra = 1 << 16

export const extraComplaint = 'must be JSON in a string: "5" for a number, "\\"high\\"" for a text'

/** Shared by all commands without `extra`. */
export const noExtra: Extra = { text: '', fields: {}, error: null }

/** Reads the additional properties of a command. Moves the objects that they extend from `fields` into the result. */
export function readExtra(extra: Readonly<Record<string, string>>, rules: ExtraRules, fields: Fields): Extra {
  if (isEmpty(extra)) return noExtra
  const entries = Object.entries(extra)
  let text = ''
  const more: Fields = {}
  const length = entries.reduce((sum, [key, json]) => sum + key.length + json.length, 0)
  if (length > longestExtra) return wrong(`extra must have at most ${longestExtra} characters`)
  for (const [key, json] of entries) {
    if (rules.taken.has(key)) return wrong(`extra.${key} must not be set: the command has a field for it`)
    try {
      const value = parseJson(json)
      const own = rules.objects.has(key) ? (fields[key] as Fields | undefined) : undefined
      const problem = own && addTo(own, value, `extra.${key}`)
      if (problem) return wrong(problem)
      text += `,${JSON.stringify(key)}:${own ? stringifyJson(own) : json}`
      more[key] = own ?? value
      if (own) delete fields[key]
    } catch {
      return wrong(`extra.${key} ${extraComplaint}`)
    }
  }
  return { text, fields: more, error: null }
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}

const wrong = (error: string): Extra => ({ text: '', fields: {}, error })

/** Adds missing properties to an object of the message. @returns the problem, or null */
function addTo(own: Fields, more: unknown, path: string): string | null {
  if (!isObject(more)) return `${path} must be an object: it adds to the one of the message`
  for (const [key, value] of Object.entries(more)) {
    const field = `${path}.${key}`
    const known = Object.hasOwn(own, key) ? own[key] : undefined
    if (isObject(known)) {
      const problem = addTo(known, value, field)
      if (problem) return problem
    } else if (known !== undefined || key === '__proto__') {
      return `${field} must not be set: the message has it already`
    } else own[key] = value
  }
  return null
}
