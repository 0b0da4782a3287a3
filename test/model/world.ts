import type { Bounds } from './bounds.ts'
import { BrokerView, CellView, Layout, OffsetView, Order, ProcessView, permutations, range } from './layout.ts'
import type { Broken } from './promises.ts'
import type { Rules } from './rules.ts'

export type Broker = InstanceType<typeof BrokerView>
export type Offset = InstanceType<typeof OffsetView>
export type Cell = InstanceType<typeof CellView>
/** A process, and what it knows of one partition. */
export type Process = InstanceType<typeof ProcessView> & {
  readonly id: number
  readonly cells: readonly Cell[]
  /** The process as it sees each of the partitions. */
  readonly seats: readonly Process[]
}

/** The world as far as it concerns one partition. */
export interface Partition {
  readonly broker: Broker
  readonly offsets: readonly Offset[]
  readonly processes: readonly Process[]
  readonly partitions: readonly Partition[]
}

/** One thing that may happen. */
export interface Action {
  /** It says in words what is done; `A` stands for the process. */
  says: string
  /** Whether it happens to a process, not to what it knows of one partition. */
  toAll?: true
  /** How many ways there are for it to happen to one process. */
  ways?: (partition: Partition) => number
  /** More words, once it has happened. */
  more?: (partition: Partition, process: Process, way: number) => string
  /**
   * Lets it happen. A way that cannot be now leaves the world as it was.
   * @returns whether it happened, or what it broke
   */
  act(partition: Partition, process: Process, way: number, rules: Rules): boolean | Broken
}

/** @returns whether there was something left of this bound */
export function spend(broker: Broker, bound: keyof Bounds & keyof Broker): boolean {
  if (broker[bound] === 0) return false
  broker[bound]--
  return true
}

/** Whether it is a member of the present generation, as far as it knows and the coordinator. */
export function isMember({ generation }: Broker, process: Process): boolean {
  return process.known === 1 && process.sameId === 1 && process.generation === generation
}

/** The world of the model in one array of bytes: cheap to copy, to compare and to hash. */
export class World implements Partition {
  readonly bytes: Uint8Array
  readonly broker: Broker
  readonly offsets: readonly Offset[]
  readonly processes: readonly Process[]
  readonly partitions: readonly Partition[]
  readonly #words: Uint32Array
  readonly #candidates: [Uint32Array, Uint32Array]
  readonly #orders: readonly Order[]

  constructor({ processes, partitions, offsets, ...left }: Bounds) {
    const layout = new Layout(processes, partitions, offsets)
    this.bytes = new Uint8Array(layout.size)
    this.#words = new Uint32Array(this.bytes.buffer)
    this.#candidates = [new Uint32Array(layout.size / 4), new Uint32Array(layout.size / 4)]
    const all = () => this.partitions
    const seats: Process[][] = range(processes).map(() => [])
    this.partitions = range(partitions).map(p => ({
      broker: new BrokerView(this.bytes, 0, layout.partition(p)),
      offsets: range(offsets).map(k => new OffsetView(this.bytes, layout.offset(p, k))),
      processes: range(processes).map(id => {
        const cells = range(offsets).map(k => new CellView(this.bytes, layout.cell(id, p, k)))
        const view = new ProcessView(this.bytes, layout.process(id), layout.seat(id, p))
        const seat = Object.assign(view, { id, cells, seats: seats[id]! })
        seats[id]!.push(seat)
        return seat
      }),
      get partitions() {
        return all()
      },
    }))
    const { broker } = this.partitions[0]!
    this.broker = broker
    this.offsets = this.partitions[0]!.offsets
    this.processes = this.partitions[0]!.processes
    this.#orders = permutations(range(processes)).flatMap(ofProcesses =>
      permutations(range(partitions)).flatMap(ofPartitions =>
        permutations(range(offsets)).map(ofOffsets => new Order(layout, ofProcesses, ofPartitions, ofOffsets)),
      ),
    )
    Object.assign(broker, left)
    for (const partition of this.partitions) partition.broker.seq = 1
    for (const process of this.processes) process.phase = 1
  }

  /** Sequence numbers are only compared: the smallest one that is left becomes 1. */
  normalise(): void {
    for (const partition of this.partitions) normalise(partition)
  }

  /** The least of the arrays that differ from this one only by the names of processes, partitions and offsets. */
  canonical(): Uint32Array {
    let [least, candidate] = this.#candidates
    this.#orders.forEach((order, i) => {
      order.apply(this.#words, candidate)
      if (i > 0 && !isLess(candidate, least)) return
      ;[least, candidate] = [candidate, least]
    })
    return least
  }
}

const numbers = ['seq', 'found', 'confirmed', 'part'] as const

function normalise({ broker, processes }: Partition): void {
  let least = broker.seq
  for (const process of processes) {
    for (const name of numbers) if (process[name] > 0 && process[name] < least) least = process[name]
  }
  const shift = least - 1
  if (shift === 0) return
  broker.seq -= shift
  for (const process of processes) for (const name of numbers) if (process[name]) process[name] -= shift
}

function isLess(a: Uint32Array, b: Uint32Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]!
  return false
}
