import type { $ZodChecks, $ZodType, $ZodTypes } from 'zod/v4/core'

type Predicate = (value: unknown) => boolean

const never: Predicate = () => false

/**
 * Compiles a schema to a check that answers true only for what the schema accepts, and makes no garbage: zod makes a copy of
 * each object, a tenth of what a command leaves behind. What it does not know is never true: then zod has to say.
 */
export function quickCheck(schema: $ZodType): Predicate {
  const { def } = (schema as $ZodTypes)._zod
  const rules = (def.checks ?? []).map(check => ruleOf((check as unknown as $ZodChecks)._zod.def))
  const type = 'coerce' in def && def.coerce ? never : typeCheck(def)
  return rules.length === 0 ? type : value => type(value) && rules.every(rule => rule(value))
}

function typeCheck(def: $ZodTypes['_zod']['def']): Predicate {
  switch (def.type) {
    case 'object':
      return def.catchall?._zod.def.type === 'unknown' ? objectCheck(def.shape) : never
    case 'optional': {
      const check = quickCheck(def.innerType)
      return value => value === undefined || check(value)
    }
    case 'literal':
      return value => def.values.includes(value as string)
    case 'boolean':
      return value => typeof value === 'boolean'
    case 'string':
      return 'format' in def ? never : value => typeof value === 'string'
    case 'number':
      return 'format' in def && def.format === 'safeint' ? Number.isSafeInteger : never
    case 'custom':
      return value => def.fn(value) === true
    default:
      return never
  }
}

function objectCheck(shape: Readonly<Record<string, $ZodType>>): Predicate {
  const fields = Object.entries(shape).map(([name, schema]) => ({ name, check: quickCheck(schema) }))
  return value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    const object = value as Record<string, unknown>
    for (const { name, check } of fields) if (!check(object[name])) return false
    return true
  }
}

function ruleOf(rule: $ZodChecks['_zod']['def']): Predicate {
  switch (rule.check) {
    case 'greater_than':
      return value => (value as number) > Number(rule.value) || (rule.inclusive && value === rule.value)
    case 'less_than':
      return value => (value as number) < Number(rule.value) || (rule.inclusive && value === rule.value)
    case 'string_format': {
      const { format, pattern } = rule
      return format === 'regex' && pattern && !pattern.global && !pattern.sticky
        ? text => pattern.test(text as string)
        : never
    }
    default:
      return never
  }
}
