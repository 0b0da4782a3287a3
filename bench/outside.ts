import { ranks } from './ranks.ts'

/** Ids from here on are the time of appending, in microseconds since 1970. */
const firstTimed = 1e15

/** Observes from outside when commands reach the gateway and when their results can be read. */
export class Outside {
  /** The number of results read. */
  readable = 0
  /** Monotonic milliseconds of the first POST or result. */
  begunAt = Number.NaN
  lastReadableAt = Number.NaN
  /** The times at which each tenth of the results had been read. */
  readonly #tenthsAt: number[] = []
  #tenth = Number.POSITIVE_INFINITY
  /** The ids that were POSTed. */
  readonly #seen = new Set<number>()
  /** The number of ids that were POSTed again. */
  repeated = 0
  #toPost: number[] = []
  #toReadable: number[] = []
  readonly #answeredAt = new Map<number, number>()
  #lastId = 0

  /** An id for a command that is about to be appended. */
  nextId(): number {
    this.#lastId = Math.max(this.#lastId + 1, Math.round(nowMicros()))
    return this.#lastId
  }

  /** Starts measuring this number of commands in tenths. */
  expect(commands: number): void {
    this.#tenth = commands / 10
  }

  /** Commands a second in each finished tenth. */
  get tenths(): number[] {
    return this.#tenthsAt.map((at, i) => (this.#tenth / (at - (this.#tenthsAt[i - 1] ?? this.begunAt))) * 1000)
  }

  post(ids: readonly number[]): void {
    this.#begin()
    const now = nowMicros()
    for (const id of ids) {
      if (this.#seen.has(id)) this.repeated++
      this.#seen.add(id)
      if (id >= firstTimed) this.#toPost.push((now - id) / 1000)
    }
  }

  answer(ids: readonly number[]): void {
    const now = nowMicros()
    for (const id of ids) if (id >= firstTimed) this.#answeredAt.set(id, now)
  }

  read(ids: readonly number[]): void {
    this.#begin()
    this.readable += ids.length
    this.lastReadableAt = performance.now()
    while (this.readable >= this.#tenth * (this.#tenthsAt.length + 1)) this.#tenthsAt.push(this.lastReadableAt)
    const now = nowMicros()
    for (const id of ids) {
      const at = this.#answeredAt.get(id)
      if (at !== undefined) this.#toReadable.push((now - at) / 1000)
      this.#answeredAt.delete(id)
    }
  }

  #begin(): void {
    if (Number.isNaN(this.begunAt)) this.begunAt = performance.now()
  }

  /** The times of all commands with a known time since the last call, in milliseconds. */
  latencies() {
    const found = { appendToPost: ranks(this.#toPost), answerToReadable: ranks(this.#toReadable) }
    this.#toPost = []
    this.#toReadable = []
    return found
  }
}

const nowMicros = () => (performance.timeOrigin + performance.now()) * 1000
