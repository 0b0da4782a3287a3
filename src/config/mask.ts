import type { Settings } from './compile.ts'
import { Secret } from './secret.ts'

/** A plain copy to be printed: secrets as ***, what is not set as null. */
export function maskSettings(settings: Settings): Record<string, unknown> {
  return masked(settings) as Record<string, unknown>
}

function masked(value: unknown): unknown {
  if (value === undefined) return null
  if (value instanceof Secret) return String(value)
  if (value instanceof Map) return masked(Object.fromEntries(value))
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, masked(child)]))
}
