/**
 * The world of the model in one array of bytes: cheap to copy, to compare and to hash. Every name below is one byte; a new
 * one is added to its list and is then a property of the view. Each part fills whole words of four bytes.
 */

/** What the broker and the coordinator know, and what of the bounds is left. */
const ofBroker = [
  'generation',
  'preparing', // the coordinator waits for members to join
  'owner', // process + 1 that the present generation gives the partition to
  'tag', // of the stored checkpoint: process + 1, or 0 for one that is gone
  'seq',
  'epoch', // process + 1 that initialised the partition's producer last
  'lostBy', // process + 1 whose confirmed checkpoint the coordinator has lost
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
  'given', // that answer gives it the partition
  'oldLease', // the lease that it had when it began to join still covers the time
  'slot', // it was given the partition, as far as it knows
  'found', // seq at the take-over; 0: not taken over yet
  'confirmed', // seq of the last commit that was answered since then; 0: none
  'session',
  'held',
  'touched', // a release is to be committed
  'leaving',
  'tag', // of the checkpoint that it was told
  'seq',
  'flight', // its commit
  'flightSeq',
  'deaf', // nobody waits for the answer to that commit; 2: its process is gone as well
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

function views<Field extends string>(fields: readonly Field[]) {
  class Bytes {
    readonly bytes: Uint8Array
    readonly at: number
    constructor(bytes: Uint8Array, at: number) {
      this.bytes = bytes
      this.at = at
    }
  }
  fields.forEach((field, i) => {
    Object.defineProperty(Bytes.prototype, field, {
      get(this: Bytes) {
        return this.bytes[this.at + i]
      },
      set(this: Bytes, value: number) {
        this.bytes[this.at + i] = value
      },
    })
  })
  return Bytes as unknown as new (
    bytes: Uint8Array,
    at: number,
  ) => View<Field>
}

const BrokerView = views(ofBroker)
const OffsetView = views(ofOffset)
const ProcessView = views(ofProcess)
const CellView = views(ofCell)

export type Broker = View<(typeof ofBroker)[number]>
export type Offset = View<(typeof ofOffset)[number]>
export type Cell = View<(typeof ofCell)[number]>
export type Process = View<(typeof ofProcess)[number]> & { readonly id: number; readonly cells: readonly Cell[] }

/** @returns whether there was something left of this bound */
export function spend(broker: Broker, bound: keyof Bounds & keyof Broker): boolean {
  if (broker[bound] === 0) return false
  broker[bound]--
  return true
}

/** How far the check goes. */
export interface Bounds {
  processes: number
  offsets: number
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

export class World {
  readonly bytes: Uint8Array
  readonly broker: Broker
  readonly offsets: readonly Offset[]
  readonly processes: readonly Process[]
  readonly #words: Uint32Array
  readonly #candidates: [Uint32Array, Uint32Array]
  readonly #orders: readonly Order[]

  constructor({ processes, offsets, ...left }: Bounds) {
    const size = brokerSize + offsets * offsetSize + processes * blockSize(offsets)
    this.bytes = new Uint8Array(size)
    this.#words = new Uint32Array(this.bytes.buffer)
    this.#candidates = [new Uint32Array(size / 4), new Uint32Array(size / 4)]
    this.broker = new BrokerView(this.bytes, 0)
    this.offsets = range(offsets).map(k => new OffsetView(this.bytes, brokerSize + k * offsetSize))
    this.processes = range(processes).map(id => {
      const at = brokerSize + offsets * offsetSize + id * blockSize(offsets)
      const cells = range(offsets).map(k => new CellView(this.bytes, at + processSize + k * cellSize))
      return Object.assign(new ProcessView(this.bytes, at), { id, cells })
    })
    this.#orders = permutations(range(processes)).flatMap(ofProcesses =>
      permutations(range(offsets)).map(ofOffsets => new Order(ofProcesses, ofOffsets)),
    )
    Object.assign(this.broker, left)
    this.broker.seq = 1
    for (const process of this.processes) process.phase = 1
  }

  /** Sequence numbers are only compared: the smallest one that is left becomes 1. */
  normalise(): void {
    const { broker, processes } = this
    let least = broker.seq
    for (const { seq, found, confirmed, flightSeq } of processes) {
      for (const number of [seq, found, confirmed, flightSeq]) if (number > 0 && number < least) least = number
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

  /** The least of the arrays that differ from this one only by the names of processes and offsets. */
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

/** The same world under other names. */
class Order {
  /** Where each word comes from. */
  readonly #from: Uint16Array
  readonly #names: Uint8Array
  readonly #placesOfNames: readonly number[]

  constructor(processes: readonly number[], offsets: readonly number[]) {
    const words = (at: number, size: number) => range(size / 4).map(i => at / 4 + i)
    const start = brokerSize + offsets.length * offsetSize
    const block = blockSize(offsets.length)
    const ofOffsets = offsets.flatMap(k => words(brokerSize + k * offsetSize, offsetSize))
    const blocks = processes.flatMap(id => {
      const at = start + id * block
      const cells = offsets.flatMap(k => words(at + processSize + k * cellSize, cellSize))
      return [...words(at, processSize), ...cells]
    })
    this.#from = Uint16Array.from([...words(0, brokerSize), ...ofOffsets, ...blocks])
    this.#names = Uint8Array.from([0, ...processes.map((_, id) => processes.indexOf(id) + 1)])
    this.#placesOfNames = [...brokerNames, ...processes.map((_, i) => start + i * block + processTag)]
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

const brokerNames = (['owner', 'tag', 'epoch', 'lostBy'] as const).map(name => ofBroker.indexOf(name))
const processTag = ofProcess.indexOf('tag')

const wholeWords = (names: readonly string[]) => Math.ceil(names.length / 4) * 4
const brokerSize = wholeWords(ofBroker)
const offsetSize = wholeWords(ofOffset)
const processSize = wholeWords(ofProcess)
const cellSize = wholeWords(ofCell)
const blockSize = (offsets: number) => processSize + offsets * cellSize
const range = (length: number) => Array.from({ length }, (_, i) => i)

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap(item => permutations(items.filter(other => other !== item)).map(rest => [item, ...rest]))
}

function isLess(a: Uint32Array, b: Uint32Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]!
  return false
}
