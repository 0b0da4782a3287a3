import avro, { type Type } from 'avsc'
import type { Codec, Tap } from './tap.ts'

/**
 * Arrays and maps that a few bytes cannot blow up. avsc believes the count in front of a block: ten bytes that
 * claim 2^40 items keep it busy for days, and 200 million nulls fill the memory. Here a block may not claim more
 * items than bytes are left; one that does is read as cut short.
 */

/** Items of one list: each takes memory, however few its bytes. A doubt has one for each header, of which no batch has more. */
const mostItems = 1 << 20

/** @param known how many came before */
function nextBlock(tap: Tap, known = 0): number {
  let count = tap.readLong()
  if (count < 0) {
    count = -count
    tap.skipLong()
  }
  if (count > tap.buf.length - tap.pos) {
    tap.pos = tap.buf.length + 1
    return 0
  }
  if (known + count > mostItems) throw new Error(`a list has more than ${mostItems} items`)
  return count
}

/** avsc calls _read also on its resolvers, which carry an itemsType or valuesType of their own. */
export class BoundedArray extends avro.types.ArrayType {
  _read(this: { itemsType: Codec }, tap: Tap): unknown[] {
    const items: unknown[] = []
    for (let left = nextBlock(tap); left > 0; left = nextBlock(tap, items.length)) {
      for (; left > 0; left--) items.push(this.itemsType._read(tap))
    }
    return items
  }

  _skip(this: { itemsType: Codec }, tap: Tap): void {
    for (let left = nextBlock(tap); left > 0; left = nextBlock(tap)) {
      for (; left > 0; left--) this.itemsType._skip(tap)
    }
  }
}

export class BoundedMap extends avro.types.MapType {
  _read(this: { valuesType: Codec }, tap: Tap): Record<string, unknown> {
    const map: Record<string, unknown> = {}
    let read = 0
    for (let left = nextBlock(tap); left > 0; left = nextBlock(tap, read)) {
      for (; left > 0; left--, read++) {
        const key = tap.readString()
        const value = this.valuesType._read(tap)
        // A plain assignment would lose this key, and whoever refuses it could not see it.
        if (key === '__proto__') Object.defineProperty(map, key, { value, enumerable: true })
        else map[key] = value
      }
    }
    return map
  }

  _skip(this: { valuesType: Codec }, tap: Tap): void {
    for (let left = nextBlock(tap); left > 0; left = nextBlock(tap)) {
      for (; left > 0; left--) {
        tap.skipString()
        this.valuesType._skip(tap)
      }
    }
  }
}

/** Node is what an avsc Type is made of, whatever its kind. */
interface Node {
  typeName: string
  size?: number
  fields?: readonly { type: Node }[]
  itemsType?: Node
  valuesType?: Node
  types?: readonly Node[]
}

/**
 * Refuses a type with an array whose items can take no bytes (null, empty records): any number of them fits
 * into a few bytes, and the bound above does not hold. The items of a map always have their key.
 * @throws Error
 */
export function refuseWeightlessItems(type: Type): void {
  const seen = new Set<Node>()
  const visit = (node: Node): void => {
    if (seen.has(node)) return
    seen.add(node)
    if (node.itemsType && isWeightless(node.itemsType)) {
      throw new Error('it has an array whose items take no bytes, so a short record could hold any number of them')
    }
    for (const part of partsOf(node)) visit(part)
  }
  visit(type as unknown as Node)
}

function partsOf({ fields = [], itemsType, valuesType, types = [] }: Node): Node[] {
  return [...fields.map(field => field.type), itemsType, valuesType, ...types].filter(part => part !== undefined)
}

/** A record inside itself without a union between counts as weightless: it has no value at all. */
function isWeightless(node: Node, inside: readonly Node[] = []): boolean {
  if (node.typeName === 'null') return true
  if (node.typeName === 'fixed') return node.size === 0
  if (node.fields === undefined) return false
  return inside.includes(node) || node.fields.every(field => isWeightless(field.type, [...inside, node]))
}
