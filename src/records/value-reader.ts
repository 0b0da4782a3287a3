import type { Cursor } from './cursor.ts'
import { Mismatch, matchOf, planOf, symbolFor, within } from './resolution.ts'
import type { Shape } from './shape.ts'

/** Deepest nesting of values. */
const mostLevels = 500

/** Reads one record by the writer's shape as the reader's. Bounds its values and their nesting, whatever its bytes claim. */
export class ValueReader {
  readonly cursor: Cursor
  readonly #mostValues: number
  #valuesLeft: number
  #levelsLeft = mostLevels

  constructor(cursor: Cursor, mostValues: number) {
    this.cursor = cursor
    this.#mostValues = mostValues
    this.#valuesLeft = mostValues
  }

  /**
   * Reads the next value; passes it if `wanted` is null.
   * @throws Mismatch; Truncated; Error when the bytes do not follow the shape or exceed a limit
   */
  read(written: Shape, wanted: Shape | null): unknown {
    if (--this.#valuesLeft < 0) throw new Error(`it holds more than ${this.#mostValues} values`)
    if (--this.#levelsLeft < 0) throw new Error(`it is nested deeper than ${mostLevels} levels`)
    const branch = written.kind === 'union' ? this.#branchOf(written) : written
    const target = wanted && matchOf(branch, wanted)
    const value = this.#value(branch, target)
    this.#levelsLeft++
    return wanted?.isTagged && value !== null ? { [target!.name]: value } : value
  }

  #branchOf({ parts }: Shape): Shape {
    const branch = parts[this.cursor.long()]
    if (branch === undefined) throw new Error('a union has no such branch')
    return branch
  }

  #value(written: Shape, target: Shape | null): unknown {
    const { cursor } = this
    switch (written.kind) {
      case 'null':
        return null
      case 'boolean':
        return cursor.boolean()
      case 'int':
        return target?.kind === 'bigint' ? BigInt(cursor.int()) : cursor.int()
      case 'long':
        return target?.kind === 'bigint' ? cursor.bigint() : cursor.long()
      case 'float':
        return cursor.float()
      case 'double':
        return cursor.double()
      case 'fixed':
        return cursor.slice(written.size)
      case 'enum':
        return this.#symbol(written, target)
      case 'record':
        return target ? this.#record(written, target) : this.#pass(written)
      case 'array':
        return this.#array(written.parts[0]!, target && target.parts[0]!)
      case 'map':
        return this.#map(written.parts[0]!, target && target.parts[0]!)
      default:
        if (target === null) return cursor.skip(cursor.long())
        return target.kind === 'bytes' ? cursor.slice(cursor.long()) : cursor.text()
    }
  }

  #symbol({ symbols }: Shape, target: Shape | null): string {
    const symbol = symbols[this.cursor.long()]
    if (symbol === undefined) throw new Error('an enum has no such symbol')
    return target ? symbolFor(symbol, target) : symbol
  }

  #pass({ parts }: Shape): void {
    for (const part of parts) this.read(part, null)
  }

  #record(written: Shape, target: Shape): object {
    const { blank, steps, missing } = planOf(written, target)
    const record = { ...blank }
    let field = ''
    try {
      for (const step of steps) {
        field = step.name
        const value = this.read(step.written, step.wanted)
        if (step.wanted !== null) record[field] = value
      }
    } catch (error) {
      if (error instanceof Mismatch) error.path.unshift(field)
      throw error
    }
    for (const [name, value] of missing) record[name] = typeof value === 'object' ? structuredClone(value) : value
    return record
  }

  #array(written: Shape, wanted: Shape | null): unknown[] {
    const items: unknown[] = []
    this.#blocks(() => items.push(this.read(written, wanted)))
    return items
  }

  /** Without a prototype, so that a key is nothing but a key. */
  #map(written: Shape, wanted: Shape | null): object {
    const { cursor } = this
    const map = Object.create(null)
    this.#blocks(() => {
      if (wanted) {
        const key = cursor.text()
        map[key] = within(key, () => this.read(written, wanted))
      } else {
        cursor.skip(cursor.long())
        this.read(written, null)
      }
    })
    return map
  }

  /** A block with a negative count has its length in bytes. */
  #blocks(item: () => unknown): void {
    const { cursor } = this
    for (let count = cursor.long(); count !== 0; count = cursor.long()) {
      const end = count < 0 ? cursor.long() + cursor.position : null
      for (let left = Math.abs(count); left > 0; left--) item()
      if (end !== null && end !== cursor.position) throw new Error('the length of a block is wrong')
    }
  }
}
