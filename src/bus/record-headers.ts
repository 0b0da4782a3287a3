import type { RecordHeaders } from './port.ts'

/** Headers to be filled. They have no prototype: a foreign name finds nothing but what was set under it. */
export function newHeaders(): Record<string, Buffer | Buffer[]> {
  return Object.create(null)
}

/** Another value under a name, in a time that does not grow with those that are there. */
export function addHeader(headers: ReturnType<typeof newHeaders>, name: string, value: Buffer): void {
  const known = headers[name]
  if (known === undefined) headers[name] = value
  else if (Array.isArray(known)) known.push(value)
  else headers[name] = [known, value]
}

/** Each value with its name, which may stand for several. */
export function* headerPairs(headers: RecordHeaders): Generator<[string, Buffer | string]> {
  for (const [name, values] of Object.entries(headers)) {
    if (Array.isArray(values)) for (const value of values) yield [name, value]
    else if (values !== undefined) yield [name, values]
  }
}
