import { readFileSync, statSync } from 'node:fs'
import { inspect } from 'node:util'

const recheckAfterMs = 1000

/** Holds a value that prints as *** wherever it is printed. Ask for it anew at each use: it may change in its file. */
export class Secret<T = string> {
  readonly #read: () => T

  constructor(read: () => T) {
    this.#read = read
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
 * A secret that follows its file, looked at no more than once a second when the secret is read.
 * What cannot be read or parsed later on leaves the last good value in use, with a process warning.
 * @throws what reading or parsing throws the first time.
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

  return new Secret(() => {
    if (performance.now() - checkedAt < recheckAfterMs) return value
    checkedAt = performance.now()
    try {
      refresh()
    } catch {
      if (!warned) process.emitWarning(`${path}File cannot be used as it is now; the last good value stays in use`)
      warned = true
    }
    return value
  })
}
