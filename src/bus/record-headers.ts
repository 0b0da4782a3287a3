import type { RecordHeaders } from './port.ts'

/** Empty headers, without a prototype: a header named like a property of Object finds nothing. */
export function newHeaders(): Record<string, Buffer | Buffer[]> {
  return Object.create(null)
}

type Pairs = readonly [string, Buffer | string][]

/** Shared by all records without headers, which most are. */
export const noHeaders: RecordHeaders = Object.freeze(newHeaders())
const noPairs: Pairs = []

/** Adds a value under a name, in constant time. */
export function addHeader(headers: ReturnType<typeof newHeaders>, name: string, value: Buffer): void {
  const known = headers[name]
  if (known === undefined) headers[name] = value
  else if (Array.isArray(known)) known.push(value)
  else headers[name] = [known, value]
}

/** Each value with its name; a name repeats for each of its values. */
export function headerPairs(headers = noHeaders): Pairs {
  if (headers === noHeaders) return noPairs
  const pairs: [string, Buffer | string][] = []
  for (const [name, values] of Object.entries(headers)) {
    if (Array.isArray(values)) for (const value of values) pairs.push([name, value])
    else if (values !== undefined) pairs.push([name, values])
  }
  return pairs
}
