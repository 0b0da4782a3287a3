import { type Broker, BrokerView, type Cell, CellView, type Offset, OffsetView, ProcessView } from './fields.ts'
import { Layout, Order, permutations, range } from './layout.ts'

export type { Broker, Cell, Offset }
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

/** @returns whether there was something left of this bound */
export function spend(broker: Broker, bound: keyof Bounds & keyof Broker): boolean {
  if (broker[bound] === 0) return false
  broker[bound]--
  return true
}

/** How far the check goes. */
export interface Bounds {
  processes: number
  partitions: number
  /** Offsets that each partition has. */
  offsets: number
  /** Whether processes commit for all their partitions together from the beginning; else for each one apart. */
  together: number
  /** Generations that commit in another way than the one before. */
  switches: number
  /** Rebalances in all. */
  rounds: number
  /** Joins that nothing asked for. */
  rejoins: number
  /** Answers to JoinGroup and SyncGroup that are lost. */
  lostJoins: number
  /** Answers to heartbeats that travel while other things happen. */
  lateHeartbeats: number
  /** Processes that die and start again under a new tag. */
  crashes: number
  /** Lost answers to commits. */
  lostCommits: number
  /** POSTs that turn out not to have been sent. */
  releases: number
  /** Confirmed checkpoints that the coordinator loses. */
  losses: number
  /** Times that the coordinator forgets the group and counts generations anew. */
  resets: number
  /** Processes that are told to stop. */
  leaves: number
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

function normalise({ broker, processes }: Partition): void {
  let least = broker.seq
  for (const { seq, found, confirmed, flightSeq } of processes) {
    if (seq > 0 && seq < least) least = seq
    if (found > 0 && found < least) least = found
    if (confirmed > 0 && confirmed < least) least = confirmed
    if (flightSeq > 0 && flightSeq < least) least = flightSeq
  }
  const shift = least - 1
  if (shift === 0) return
  broker.seq -= shift
  for (const process of processes) {
    if (process.seq) process.seq -= shift
    if (process.found) process.found -= shift
    if (process.confirmed) process.confirmed -= shift
    if (process.flightSeq) process.flightSeq -= shift
  }
}

function isLess(a: Uint32Array, b: Uint32Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]!
  return false
}
