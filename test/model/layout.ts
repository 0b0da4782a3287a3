import { ofBroker, ofCell, ofOffset, ofPartition, ofProcess, ofSeat } from './fields.ts'

type View<Field extends string> = Record<Field, number>

/** A view of two parts of the world at once. */
function views<A extends string, B extends string>(first: readonly A[], second: readonly B[]) {
  class Bytes {
    readonly bytes: Uint8Array
    readonly at: readonly [number, number]
    constructor(bytes: Uint8Array, at: number, atSecond = 0) {
      this.bytes = bytes
      this.at = [at, atSecond]
    }
  }
  const define = (fields: readonly string[], part: 0 | 1) =>
    fields.forEach((field, i) => {
      Object.defineProperty(Bytes.prototype, field, {
        get(this: Bytes) {
          return this.bytes[this.at[part] + i]
        },
        set(this: Bytes, value: number) {
          this.bytes[this.at[part] + i] = value
        },
      })
    })
  define(first, 0)
  define(second, 1)
  return Bytes as unknown as new (
    bytes: Uint8Array,
    at: number,
    atSecond?: number,
  ) => View<A | B>
}

export const BrokerView = views(ofBroker, ofPartition)
export const OffsetView = views(ofOffset, [])
export const ProcessView = views(ofProcess, ofSeat)
export const CellView = views(ofCell, [])

export const range = (length: number) => Array.from({ length }, (_, i) => i)

const wholeWords = (names: readonly string[]) => Math.ceil(names.length / 4) * 4
/** Sizes are in bytes: each part fills whole words of four. */
const sizes = {
  broker: wholeWords(ofBroker),
  partition: wholeWords(ofPartition),
  offset: wholeWords(ofOffset),
  process: wholeWords(ofProcess),
  seat: wholeWords(ofSeat),
  cell: wholeWords(ofCell),
}

/** Where everything stands. */
export class Layout {
  readonly size: number
  readonly #partitionSize: number
  readonly #processesAt: number
  readonly #seatSize: number
  readonly #processSize: number

  constructor(processes: number, partitions: number, offsets: number) {
    this.#partitionSize = sizes.partition + offsets * sizes.offset
    this.#processesAt = sizes.broker + partitions * this.#partitionSize
    this.#seatSize = sizes.seat + offsets * sizes.cell
    this.#processSize = sizes.process + partitions * this.#seatSize
    this.size = this.#processesAt + processes * this.#processSize
  }

  partition(p: number): number {
    return sizes.broker + p * this.#partitionSize
  }

  offset(p: number, k: number): number {
    return this.partition(p) + sizes.partition + k * sizes.offset
  }

  process(id: number): number {
    return this.#processesAt + id * this.#processSize
  }

  seat(id: number, p: number): number {
    return this.process(id) + sizes.process + p * this.#seatSize
  }

  cell(id: number, p: number, k: number): number {
    return this.seat(id, p) + sizes.seat + k * sizes.cell
  }
}

const namesOfPartition = (['owner', 'tag', 'writer', 'lostBy'] as const).map(name => ofPartition.indexOf(name))
const tagOfSeat = ofSeat.indexOf('tag')

/** Shows the world under other names. */
export class Order {
  /** Where each word comes from. */
  readonly #from: Uint16Array
  readonly #names: Uint8Array
  readonly #placesOfNames: readonly number[]

  constructor(layout: Layout, processes: readonly number[], partitions: readonly number[], offsets: readonly number[]) {
    const words = (at: number, size: number) => range(size / 4).map(i => at / 4 + i)
    const ofPartitions = partitions.flatMap(p => [
      ...words(layout.partition(p), sizes.partition),
      ...offsets.flatMap(k => words(layout.offset(p, k), sizes.offset)),
    ])
    const ofProcesses = processes.flatMap(id => [
      ...words(layout.process(id), sizes.process),
      ...partitions.flatMap(p => [
        ...words(layout.seat(id, p), sizes.seat),
        ...offsets.flatMap(k => words(layout.cell(id, p, k), sizes.cell)),
      ]),
    ])
    this.#from = Uint16Array.from([...words(0, sizes.broker), ...ofPartitions, ...ofProcesses])
    this.#names = Uint8Array.from(range(16), name => processes.indexOf(name - 1) + 1 || name)
    this.#placesOfNames = range(partitions.length).flatMap(p => [
      ...namesOfPartition.map(name => layout.partition(p) + name),
      ...range(processes.length).map(id => layout.seat(id, p) + tagOfSeat),
    ])
  }

  apply(words: Uint32Array, into: Uint32Array): void {
    const from = this.#from
    for (let i = 0; i < from.length; i++) into[i] = words[from[i]!]!
    for (const place of this.#placesOfNames) {
      const shift = (place % 4) * 8 // little-endian, as every machine that Node runs on is
      const word = into[place >> 2]!
      const name = this.#names[(word >>> shift) & 255]!
      into[place >> 2] = (word & ~(255 << shift)) | (name << shift)
    }
  }
}

export function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap(item => permutations(items.filter(other => other !== item)).map(rest => [item, ...rest]))
}
