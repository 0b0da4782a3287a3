import type { RecordHeaders } from './port.ts'

/** Headers to be filled. They have no prototype: a foreign name finds nothing but what was set under it. */
export function newHeaders(): Record<string, Buffer | Buffer[]> {
  return Object.create(null)
}

type Pairs = readonly [string, Buffer | string][]

/** The pairs of headers that many records share. */
const sharedPairs = new Map<RecordHeaders, Pairs>()

/** Headers that many records are to have: they are frozen, and their pairs are made once. For constants alone: they stay. */
export function sharedHeaders(headers: RecordHeaders): RecordHeaders {
  sharedPairs.set(headers, pairsIn(headers))
  return Object.freeze(headers)
}

/** A record without headers has this object; most records have none. */
export const noHeaders: RecordHeaders = sharedHeaders(newHeaders())

/** Another value under a name, in a time that does not grow with those that are there. */
export function addHeader(headers: ReturnType<typeof newHeaders>, name: string, value: Buffer): void {
  const known = headers[name]
  if (known === undefined) headers[name] = value
  else if (Array.isArray(known)) known.push(value)
  else headers[name] = [known, value]
}

/** Each value with its name, which may stand for several. */
export function headerPairs(headers: RecordHeaders): Pairs {
  return sharedPairs.get(headers) ?? pairsIn(headers)
}

function pairsIn(headers: RecordHeaders): Pairs {
  const pairs: [string, Buffer | string][] = []
  for (const [name, values] of Object.entries(headers)) {
    if (Array.isArray(values)) for (const value of values) pairs.push([name, value])
    else if (values !== undefined) pairs.push([name, values])
  }
  return pairs
}
