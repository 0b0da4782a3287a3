/** What there is to know in the model. Every name is one byte: a new one is added to its list, and is a property of the view then. */

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
export const ofPartition = [
  'owner', // process + 1 that the present generation gives the partition to
  'tag', // of the stored checkpoint: process + 1, GONE, NOBODYS, or 0: there is no checkpoint
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
export const ofSeat = [
  'given', // the answer to its SyncGroup gives it the partition
  'holding', // it was given the partition, as far as it knows
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

export const BrokerView = views(ofBroker, ofPartition)
export const OffsetView = views(ofOffset, [])
export const ProcessView = views(ofProcess, ofSeat)
export const CellView = views(ofCell, [])

export type Broker = InstanceType<typeof BrokerView>
export type Offset = InstanceType<typeof OffsetView>
export type Cell = InstanceType<typeof CellView>

const wholeWords = (names: readonly string[]) => Math.ceil(names.length / 4) * 4
/** Sizes are in bytes: each part fills whole words of four. */
export const sizes = {
  broker: wholeWords(ofBroker),
  partition: wholeWords(ofPartition),
  offset: wholeWords(ofOffset),
  process: wholeWords(ofProcess),
  seat: wholeWords(ofSeat),
  cell: wholeWords(ofCell),
}
