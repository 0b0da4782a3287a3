/**
 * The world of the model in one array of bytes: cheap to copy, to compare and to hash. Every name below is one byte; a new
 * one is added to its list and is then a property of the view. Each part fills whole words of four bytes.
 */

/** What the coordinator knows, and what of the bounds is left. */
const ofBroker = [
  'generation',
  'preparing', // the coordinator waits for members to join
  'together', // how the members of the present generation commit; 0: each partition apart
  'rounds', // from here on: left of the bounds
  'rejoins',
  'lostJoins',
  'lateHeartbeats',
  'crashes',
  'lostCommits',
  'releases',
  'losses',
  'resets',
  'leaves',
  'switches',
] as const

/** What the brokers know of a partition. */
const ofPartition = [
  'owner', // process + 1 that the present generation gives the partition to
  'tag', // of the stored checkpoint: process + 1, or 0 for nobody's, or one that is gone
  'seq',
  'epoch', // process + 1 that initialised the partition's own producer last
  'taker', // the truth: process + 1 that took the partition over last
  'lostBy', // process + 1 whose confirmed checkpoint the coordinator has lost
] as const

const ofOffset = [
  'stored', // in the checkpoint that the coordinator tells
  'posted', // the truth: a POST began that was not taken back
  'results', // the truth: final results and doubts that can be read
] as const

const ofProcess = [
  'phase',
  'known', // the coordinator has this member under the id it uses
  'joined', // and has its JoinGroup of the round that is open
  'generation', // of the last SyncGroup that was answered to it
  'joining', // the generation in the last answer to its JoinGroup
  'sameId', // its member id is the one of that last SyncGroup
  'lease',
  'heartbeat', // an answer to one is on its way, young enough to extend the lease; 2: a join began since
  'answerYoung', // likewise the answer to its SyncGroup
  'oldLease', // the lease that it had when it began to join still covers the time
  'leaving',
  'together', // how the members of its last generation commit
  'joiningTogether', // and those of the one that it joins
  'fenced', // somebody has ended a transaction of its producer since it initialised it
] as const

/** What a process knows of a partition. */
const ofSeat = [
  'given', // the answer to its SyncGroup gives it the partition
  'slot', // it was given the partition, as far as it knows
  'found', // seq at the take-over; 0: not taken over yet
  'confirmed', // seq of the last commit that was answered since then; 0: none
  'session',
  'held',
  'touched', // a release is to be committed
  'tag', // of the checkpoint that it was told
  'seq',
  'claimed', // since it claimed the partition no generation has passed it by
  'flight', // its commit, or its part of one
  'by', // whose producer commits it
  'flightSeq',
  'valid', // the coordinator still knows the member and the generation that it was formed in
  'deaf', // who waits for the answer to that commit
  'orphan', // a transaction is open that nobody will end: 1 of this process, 2 of its predecessor that died
  'gapBefore', // the truth: another process was given the partition since its last sync, up to the generation it joined
  'gapAfter', // the truth: or after that
] as const

/** What a process knows of an offset. */
const ofCell = [
  'state', // in the window of its session
  'ledger',
  'sent', // state in the commit in flight
  'kind', // what that commit does to the offset
  'confirmed', // state in the last commit that was confirmed
] as const

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

const BrokerView = views(ofBroker, ofPartition)
const OffsetView = views(ofOffset, [])
const ProcessView = views(ofProcess, ofSeat)
const CellView = views(ofCell, [])

export type Broker = InstanceType<typeof BrokerView>
export type Offset = InstanceType<typeof OffsetView>
export type Cell = InstanceType<typeof CellView>
/** A process, and what it knows of one partition. */
export type Process = InstanceType<typeof ProcessView> & {
  readonly id: number
  readonly cells: readonly Cell[]
  /** The same process as it sees each of the partitions. */
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
  /** Of each partition. */
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

const wholeWords = (names: readonly string[]) => Math.ceil(names.length / 4) * 4
const sizes = {
  broker: wholeWords(ofBroker),
  partition: wholeWords(ofPartition),
  offset: wholeWords(ofOffset),
  process: wholeWords(ofProcess),
  seat: wholeWords(ofSeat),
  cell: wholeWords(ofCell),
}
const range = (length: number) => Array.from({ length }, (_, i) => i)

/** Where everything stands. */
class Layout {
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

const namesOfPartition = (['owner', 'tag', 'epoch', 'taker', 'lostBy'] as const).map(name => ofPartition.indexOf(name))
const tagOfSeat = ofSeat.indexOf('tag')

/** The same world under other names. */
class Order {
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
    this.#names = Uint8Array.from([0, ...processes.map((_, id) => processes.indexOf(id) + 1)])
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

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap(item => permutations(items.filter(other => other !== item)).map(rest => [item, ...rest]))
}

function isLess(a: Uint32Array, b: Uint32Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]!
  return false
}
