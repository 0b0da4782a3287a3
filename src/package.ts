/** The version of this package; `npm version` writes it. */
export const version = '0.1.0'

const values = globalThis as unknown as Record<symbol, Map<string, unknown> | undefined>
const key = Symbol.for(`busgate ${version}`)
values[key] ??= new Map()
const shared = values[key]

/**
 * The value that all copies of this version in the process share: tools such as tsx load the package once for `require` and once
 * for `import`.
 */
export function sharedByCopies<T>(name: string, make: () => T): T {
  if (!shared.has(name)) shared.set(name, make())
  return shared.get(name) as T
}
