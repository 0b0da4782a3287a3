import type { RecordHeaders } from './port.ts'

/** Headers to be filled. They have no prototype: a foreign name finds nothing but what was set under it. */
export function newHeaders(): Record<string, Buffer | Buffer[]> {
  return Object.create(null)
}

type Pairs = readonly [string, Buffer | string][]

/** A record without headers has this object; most records have none. */
export const noHeaders: RecordHeaders = Object.freeze(newHeaders())
const noPairs: Pairs = []

/** Another value under a name, in a time that does not grow with those that are there. */
export function addHeader(headers: ReturnType<typeof newHeaders>, name: string, value: Buffer): void {
  const known = headers[name]
  if (known === undefined) headers[name] = value
  else if (Array.isArray(known)) known.push(value)
  else headers[name] = [known, value]
}

/** Each value with its name, which may stand for several. */
export function headerPairs(headers: RecordHeaders): Pairs {
  if (headers === noHeaders) return noPairs
  const pairs: [string, Buffer | string][] = []
  for (const [name, values] of Object.entries(headers)) {
    if (Array.isArray(values)) for (const value of values) pairs.push([name, value])
    else if (values !== undefined) pairs.push([name, values])
  }
  return pairs
}
