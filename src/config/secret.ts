import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'

const recheckAfterMs = 1000

/** The file of a secret cannot be used now; its last valid value stays in use. */
export interface SecretTrouble {
  /** The setting that names the file. */
  setting: string
  reason: string
}

/** Is told of a trouble, once for each reason, and with a null reason when the file is valid again. */
export type SecretListener = (setting: string, reason: string | null) => void

/** A value that prints as ***. Reveal it for each use: its file may change. */
export class Secret<T = string> {
  readonly #read: () => T
  readonly #file: FollowedFile<T> | null

  constructor(source: (() => T) | FollowedFile<T>) {
    this.#file = typeof source === 'function' ? null : source
    this.#read = typeof source === 'function' ? source : () => source.current()
  }

  /** The file that its value comes from. */
  get file(): string | null {
    return this.#file?.path ?? null
  }

  reveal(): T {
    return this.#read()
  }

  /** Checks its file, and returns what is wrong with it. */
  trouble(): SecretTrouble | null {
    return this.#file?.trouble() ?? null
  }

  /** Replaces the process warning about a trouble. @returns a function that ends it */
  watch(listener: SecretListener): () => void {
    return this.#file?.watch(listener) ?? (() => {})
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
 * or invalid, the last valid value stays in use, with a process warning unless somebody watches.
 * @param setting names the file
 * @param reasonOf describes an error of reading or parsing, without content
 * @throws the error of the first reading or parsing
 */
export function secretFromFile<T>(
  setting: string,
  file: string,
  parse: (bytes: Buffer) => T,
  reasonOf: (error: unknown) => string,
): Secret<T> {
  return new Secret(new FollowedFile(setting, file, parse, reasonOf))
}

class FollowedFile<T> {
  readonly #setting: string
  readonly path: string
  readonly #parse: (bytes: Buffer) => T
  readonly #reasonOf: (error: unknown) => string
  readonly #listeners = new Set<SecretListener>()
  /** As last read. */
  #bytes: Buffer
  #value: T
  /** What is wrong with them; null if `#value` is of them. */
  #flaw: string | null = null
  #checkedAt = performance.now()
  #reason: string | null = null

  constructor(setting: string, file: string, parse: (bytes: Buffer) => T, reasonOf: (error: unknown) => string) {
    this.#setting = setting
    this.path = file
    this.#parse = parse
    this.#reasonOf = reasonOf
    this.#bytes = readFileSync(file)
    this.#value = parse(this.#bytes)
  }

  current(): T {
    if (performance.now() - this.#checkedAt >= recheckAfterMs) this.#check()
    return this.#value
  }

  trouble(): SecretTrouble | null {
    this.current()
    return this.#reason === null ? null : { setting: this.#setting, reason: this.#reason }
  }

  watch(listener: SecretListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #check(): void {
    this.#checkedAt = performance.now()
    this.#tell(this.#look())
  }

  /** Compares the content: a file may keep its modification time. @returns what is wrong; null if its value is in use */
  #look(): string | null {
    try {
      const bytes = readFileSync(this.path)
      if (!bytes.equals(this.#bytes)) this.#take(bytes)
      return this.#flaw
    } catch (error) {
      return this.#reasonOf(error)
    }
  }

  /** Remembers flaws, too: many keys take long to parse. */
  #take(bytes: Buffer): void {
    this.#bytes = bytes
    this.#flaw = null
    try {
      this.#value = this.#parse(bytes)
    } catch (error) {
      this.#flaw = this.#reasonOf(error)
    }
  }

  #tell(reason: string | null): void {
    if (reason === this.#reason) return
    this.#reason = reason
    for (const listener of this.#listeners) listener(this.#setting, reason)
    if (reason !== null && this.#listeners.size === 0) process.emitWarning(secretTroubleText(this.#setting, reason))
  }
}

export const secretTroubleText = (setting: string, reason: string): string =>
  `${setting} has no valid value now (${reason}); the last valid one stays in use`

/** All secrets in the settings. */
export function secretsIn(settings: unknown): Secret<unknown>[] {
  if (settings instanceof Secret) return [settings]
  if (typeof settings !== 'object' || settings === null) return []
  return [...(settings instanceof Map ? settings.values() : Object.values(settings))].flatMap(secretsIn)
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
