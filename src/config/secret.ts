import { readFileSync, statSync } from 'node:fs'
import { inspect } from 'node:util'

const recheckAfterMs = 1000

/** A value that prints as ***. Reveal it for each use: its file may change. */
export class Secret<T = string> {
  readonly #read: () => T
  /** Whether its value comes from a file. */
  readonly isFile: boolean

  constructor(read: () => T, isFile = false) {
    this.#read = read
    this.isFile = isFile
  }

  reveal(): T {
    return this.#read()
  }

  toString(): string {
    return '***'
  }

  toJSON(): string {
    return '***'
  }

  [inspect.custom](): string {
    return '***'
  }
}

/**
 * A secret that follows its file, checked at most once a second when the secret is revealed. If the file becomes unreadable
 * or invalid, the last valid value stays in use, with a process warning.
 * @throws the error of the first reading or parsing
 */
export function secretFromFile<T>(path: string, file: string, parse: (text: string) => T): Secret<T> {
  let changedAt = statSync(file).mtimeMs
  let value = parse(readFileSync(file, 'utf8'))
  let checkedAt = performance.now()
  let warned = false

  const refresh = () => {
    const { mtimeMs } = statSync(file)
    if (mtimeMs === changedAt) return
    value = parse(readFileSync(file, 'utf8'))
    changedAt = mtimeMs
    warned = false
  }

  const current = () => {
    if (performance.now() - checkedAt < recheckAfterMs) return value
    checkedAt = performance.now()
    try {
      refresh()
    } catch {
      if (!warned) process.emitWarning(`${path}File has no valid value now; the last valid one stays in use`)
      warned = true
    }
    return value
  }
  return new Secret(current, true)
}

/** A plain copy of settings for printing: secrets as ***, unset values as null. */
export function maskSettings(settings: object): Record<string, unknown> {
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

/** TLS options of a connection, in PEM. */
export interface TlsTexts {
  /** Overrides NODE_TLS_REJECT_UNAUTHORIZED: every connection carries keys, passwords or texts. */
  rejectUnauthorized: boolean
  ca?: string
  cert?: string
  key?: string
}

/** TLS with Node's certificate authorities. */
export const verifiedTls: TlsTexts = { rejectUnauthorized: true }

/** Reads the files for a new TLS connection. */
export function tlsOf({ ca, cert, key }: Record<'ca' | 'cert' | 'key', Secret | undefined>): TlsTexts {
  return {
    ...verifiedTls,
    ...(ca && { ca: ca.reveal() }),
    ...(cert && key && { cert: cert.reveal(), key: key.reveal() }),
  }
}
