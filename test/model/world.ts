import type { Bounds } from './bounds.ts'

/** What the coordinator knows, the brokers know of the partition, and what of the bounds is left. Each field is one byte. */
const ofBroker = [
  'generation',
  'preparing', // the coordinator waits for members to join
  'owner', // process + 1 that the present generation gives the partition to
  'tag', // of the stored checkpoint: process + 1, GONE, or 0: there is no checkpoint
  'seq',
  'writer', // the truth: process + 1 whose barrier write or commit the coordinator took last
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
  'answer', // one that gives a lease is on its way, to a heartbeat or the SyncGroup; 2: a join began since
  'leaving',
  'given', // the answer to its SyncGroup gives it the partition
  'holding', // it was given the partition, as far as it knows
  'found', // seq at the take-over; 0: not taken over yet
  'confirmed', // seq of the last commit that was answered since then; 0: none
  'session',
  'held',
  'touched', // a release is to be committed
  'tag', // of the checkpoint that it was told
  'seq',
  'transaction', // what the process commits
  'part', // seq in the transaction
  'valid', // the coordinator still knows the member and the generation that it was formed in
  'unheard', // why nobody waits for its end
  'partOver', // the session is over that it was of
] as const

/** What a process knows of an offset. */
const ofCell = [
  'state', // in the window of its session
  'ledger',
  'sent', // state in the transaction
  'kind', // what the transaction does to the offset
  'confirmed', // state in the last commit that was confirmed
] as const

export const NONE = 0

/** `phase`: where a process is in the group's protocol. */
export const MUST_JOIN = 1
export const IN_JOIN = 2
export const JOINED = 3
/** The answer to its SyncGroup is on its way. */
export const IN_SYNC = 4
export const MEMBER = 5

/** `session`: its barrier write was answered; it was told the checkpoint; it is open. */
export const FENCED = 1
export const TOLD = 2
export const OPEN = 3

/** `transaction`: it is on its way; its progress is written and it is open; it is committed; it is aborted. */
export const SENT = 1
export const WRITTEN = 2
export const COMMITTED = 3
export const ABORTED = 4

/** `unheard`: the process gave it up, or died. */
export const GIVEN_UP = 1
export const DIED = 2

/** `tag` of the checkpoint of a process that died. */
export const GONE = 15

/** `kind`: the effects of a commit on an offset. */
export const INTENDED = 1
export const SETTLED = 2

/** `ledger`: a POST may begin, while the session is open that asked; it may not any more; it is in flight; its outcome. */
export const READY = 1
export const DEAD = 2
export const IN_FLIGHT = 3
export const KNOWN = 4
export const RELEASED = 5

/** Bytes as an object with these fields. */
function viewOf<Field extends string>(fields: readonly Field[]) {
  class View {
    readonly bytes: Uint8Array
    constructor(bytes: Uint8Array) {
      this.bytes = bytes
    }
  }
  fields.forEach((field, i) => {
    Object.defineProperty(View.prototype, field, {
      get(this: View) {
        return this.bytes[i]
      },
      set(this: View, value: number) {
        this.bytes[i] = value
      },
    })
  })
  return View as unknown as new (
    bytes: Uint8Array,
  ) => Record<Field, number> & { readonly bytes: Uint8Array }
}

const BrokerView = viewOf(ofBroker)
const OffsetView = viewOf(ofOffset)
const ProcessView = viewOf(ofProcess)
const CellView = viewOf(ofCell)

export type Broker = InstanceType<typeof BrokerView>
export type Cell = InstanceType<typeof CellView>
export type Process = InstanceType<typeof ProcessView> & { readonly id: number; readonly cells: readonly Cell[] }

const range = (length: number) => Array.from({ length }, (_, i) => i)

/** The world of the model in one array of bytes: cheap to copy and to compare. */
export class World {
  readonly bytes: Buffer
  readonly broker: Broker
  readonly offsets: readonly InstanceType<typeof OffsetView>[]
  readonly processes: readonly Process[]
  /** The world under each other order of processes and offsets. */
  readonly #orders: readonly { parts: readonly Uint8Array[]; names: readonly number[] }[]
  /** Where the world holds names of processes. */
  readonly #places: readonly number[]
  readonly #renamed: Buffer

  constructor({ processes, offsets, ...left }: Bounds) {
    const sizeOfProcess = ofProcess.length + offsets * ofCell.length
    this.bytes = Buffer.alloc(ofBroker.length + offsets * ofOffset.length + processes * sizeOfProcess)
    let at = 0
    const next = ({ length }: readonly string[]) => {
      at += length
      return this.bytes.subarray(at - length, at)
    }
    this.broker = new BrokerView(next(ofBroker))
    this.offsets = range(offsets).map(() => new OffsetView(next(ofOffset)))
    this.processes = range(processes).map(id =>
      Object.assign(new ProcessView(next(ofProcess)), {
        id,
        cells: range(offsets).map(() => new CellView(next(ofCell))),
      }),
    )
    this.#orders = permutations(range(processes)).flatMap(ids =>
      permutations(range(offsets)).map(numbers => ({
        parts: [
          this.broker,
          ...numbers.map(k => this.offsets[k]!),
          ...ids.flatMap(id => [this.processes[id]!, ...numbers.map(k => this.processes[id]!.cells[k]!)]),
        ].map(({ bytes }) => bytes),
        names: range(GONE + 1).map(name => ids.indexOf(name - 1) + 1 || name),
      })),
    )
    const ofFirst = this.bytes.length - processes * sizeOfProcess
    this.#places = [
      ...(['owner', 'tag', 'writer', 'lostBy'] as const).map(field => ofBroker.indexOf(field)),
      ...range(processes).map(id => ofFirst + id * sizeOfProcess + ofProcess.indexOf('tag')),
    ]
    this.#renamed = Buffer.alloc(this.bytes.length)
    Object.assign(this.broker, left, { seq: 1 })
    for (const process of this.processes) process.phase = MUST_JOIN
  }

  /** Sequence numbers are only compared: the smallest one that is left becomes 1. */
  normalise(): void {
    const { broker, processes } = this
    const least = Math.min(broker.seq, ...processes.flatMap(one => numbers.map(name => one[name] || broker.seq)))
    broker.seq -= least - 1
    for (const process of processes) for (const name of numbers) if (process[name]) process[name] -= least - 1
  }

  /** A text that is the same for all worlds which differ by nothing but the names of processes and offsets. */
  canonical(): string {
    let least = ''
    for (const { parts, names } of this.#orders) {
      let at = 0
      for (const part of parts) {
        this.#renamed.set(part, at)
        at += part.length
      }
      for (const place of this.#places) this.#renamed[place] = names[this.#renamed[place]!]!
      const text = this.#renamed.toString('latin1')
      if (least === '' || text < least) least = text
    }
    return least
  }

  /** @returns whether there was something left of this bound */
  spend(bound: keyof Bounds & keyof Broker): boolean {
    if (this.broker[bound] === 0) return false
    this.broker[bound]--
    return true
  }

  /** Whether it is a member of the present generation, as far as it knows and the coordinator. */
  isMember({ known, sameId, generation }: Process): boolean {
    return known === 1 && sameId === 1 && generation === this.broker.generation
  }
}

const numbers = ['seq', 'found', 'confirmed', 'part'] as const

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap(item => permutations(items.filter(other => other !== item)).map(rest => [item, ...rest]))
}
