import type { BusRecord, TopicPartition } from '../../src/bus/port.ts'
import { unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { DONE, INTENT } from '../../src/bus/session/window.ts'
import { keyOf, type Scope } from '../../src/pauses/change.ts'
import type { Doubt, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { referencesOf, type SimCommand } from './commands.ts'
import { type Envelope, texts } from './gateway.ts'
import type { CommandPlan, Limit } from './plan.ts'
import type { Owner } from './scheduler.ts'

/** Each invariant must hold whatever happens. */
export type Invariant =
  | 'one final result'
  | 'at most once'
  | 'sent again only in doubt'
  | 'one POST at a time'
  | 'intent before POST'
  | 'no POST after the deadline'
  | 'no POST after the lease'
  | 'no POST after a stop'
  | 'no POST above the rate'
  | 'no POST of what is paused'
  | 'the result tells the truth'
  | 'a doubt ends SENT or UNRESOLVED'
  | 'no doubt without a cause'
  | 'a kill leaves few in doubt'
  | 'a callback answered 200 is kept'
  | 'only what is too large is left out'
  | 'what is gone is told'
  | 'nothing is left over'
  | 'the worker goes on'

export interface Violation {
  invariant: Invariant
  detail: string
}

/** Where a command waits for its outcome: on its own partition, or among the doubts. */
interface Place extends TopicPartition {
  offset: number
}

interface Life {
  command: SimCommand
  places: Place[]
  /** POSTs on their way to the gateway. */
  underway: number
  executions: number
  results: SendResult[]
  /** The last of them, as it was written. */
  doubt: Doubt | null
  deadLetters: number
  /** Its record was deleted before it came to its end, or cannot be told from one that was: nobody may know of it. */
  deleted: boolean
  /** Its record went with the end of its log: another one can be at its offset. */
  gone: boolean
  /** Whether a connection was asked for to send it. */
  asked: boolean
  /** When its last POST began, and the process that made it. */
  began: { at: number; owner: Owner } | null
  /** When that process heard what came of it. */
  endedAt: number | null
}

interface Commit {
  owner: Owner
  offset: number
  metadata: string | null
}

interface Lease {
  sentAt: number
  until: number
}

export interface JudgeOptions {
  now: () => number
  leaseMs: number
  maxAgeMs: number
  attempts: number
  /** Operations of an account that may begin in any second. */
  rate: number
  /** Whether an owner that loses nothing finishes all it has begun before it hands a partition on. */
  drains: boolean
  /** The most commands that a process may have begun, or be about to begin, and not finished. */
  maxIntents: number
  /** Whether what an owner has not begun is free again before it hands a partition on, be the gateway slow. */
  takesBack: boolean
  /** Whether a process was stopped in the middle of its work until now, or kept from it. */
  wasDisturbed: () => boolean
  /** Whether no envelope is refused by chance: then what only outages and bad neighbours refuse may not be blamed. */
  blamesOutages: boolean
  /** Bytes that a topic took at any time; 0 where some process may not know. */
  leastTaken: (topic: Limit['topic']) => number
  /** Milliseconds after which a pause holds on every process that hears of it. */
  pauseMs: number
  /** Since when, milliseconds since 1970, nothing has kept a process from the bus, or from its work. */
  hearsSince: (owner: Owner) => number
}

/** A record about a command has at most so many bytes besides what it copies from it. */
const ownBytes = 3000

/** Milliseconds within which a partition is open again. */
export const goneMs = 10_000

const isUnreadable = ({ kind }: CommandPlan) => kind === 'garbage' || kind === 'foreign schema'
const isOf = ({ command: { plan, phone } }: Life, { correlationId }: Pick<SendResult, 'correlationId'>) =>
  correlationId === referencesOf(plan, phone).correlationId

const tpOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`
const stateIn = ({ offset, metadata }: Omit<Commit, 'owner'>, place: Place) =>
  unpackCheckpoint(offset, metadata).window.get(place.offset)
const placeOf = (place: Place) => `${tpOf(place)}@${place.offset}`

/**
 * Sees what passes the ports, and nothing of the worker's inside: POSTs and executions at the gateway, transactions and
 * assignments at the broker, heartbeats on the network. The first thing that may not be is kept.
 */
export class Judge {
  violation: Violation | null = null
  readonly counts = {
    posts: 0,
    executions: 0,
    doubts: 0,
    takenOver: 0,
    sentAgain: 0,
    unresolved: 0,
    shortened: 0,
    omitted: 0,
    truncations: 0,
    unknowable: 0,
  }
  readonly #options: JudgeOptions
  readonly #byPhone = new Map<number, Life>()
  /** Several where a log lost its end: the last is the one that is there now. */
  readonly #byPlace = new Map<string, Life[]>()
  /** The last commit on each partition. */
  readonly #commits = new Map<string, Commit>()
  readonly #assigned = new Map<string, Owner>()
  /** When a partition last went from one process to another. */
  readonly #handedOver = new Map<string, number>()
  /** Up to where records of a partition cannot be told from those that its log lost. */
  readonly #unknowable = new Map<string, number>()
  readonly #crashed = new Set<Owner>()
  /** Requests by the key of their account. */
  readonly #begun = new Map<string, { at: number; operations: number }[]>()
  readonly #leases = new Map<Owner, Lease>()
  /** Processes that were asked to stop. */
  readonly #stopping = new Set<Owner>()
  /** Partitions of which records were deleted: what was sent before can be unknown there. */
  readonly #cut = new Set<string>()
  /** Status events on the topic. */
  readonly #statuses = new Set<string>()
  /** What operators have paused, with the time when. */
  readonly #paused = new Map<string, number>()
  #open = 0
  #haveCommitted = false

  constructor(options: JudgeOptions) {
    this.#options = options
  }

  /** Whether every command that was published has its end. */
  get allConcluded(): boolean {
    return this.#open === 0
  }

  accuse(invariant: Invariant, detail: string): void {
    this.violation ??= { invariant, detail }
  }

  published(command: SimCommand): void {
    const place = { topic: command.topic, partition: command.partition, offset: command.offset }
    const before = this.#byPlace.get(placeOf(place)) ?? []
    const isRepeated = before.some(one => one.command.plan.id === command.plan.id) // what is said of that one is its, too
    const isUnknowable = isRepeated || place.offset < (this.#unknowable.get(tpOf(place)) ?? 0)
    const life: Life = {
      command,
      places: [place],
      underway: 0,
      executions: 0,
      results: [],
      doubt: null,
      deadLetters: 0,
      deleted: isUnknowable,
      gone: false,
      asked: false,
      began: null,
      endedAt: null,
    }
    this.#byPhone.set(command.phone, life)
    this.#byPlace.set(placeOf(place), [...before, life])
    if (!life.deleted) this.#open++
  }

  stopping(owner: Owner): void {
    this.#stopping.add(owner)
  }

  /** An operator deleted the records before this offset. */
  deleted(tp: TopicPartition, start: number): void {
    this.#cut.add(tpOf(tp))
    for (const life of this.#byPhone.values()) {
      const { topic, partition, offset } = life.command
      const gone = topic === tp.topic && partition === tp.partition && offset < start
      if (gone) this.#excuse(life)
    }
  }

  #excuse(life: Life): void {
    if (life.deleted || this.#ends(life) > 0) return
    life.deleted = true
    this.#open--
  }

  /** The log lost its end: other records come at the offsets from this one on. */
  truncated(tp: TopicPartition, end: number): void {
    this.counts.truncations++
    this.#cut.add(tpOf(tp))
    for (const life of this.#lastOn(tp)) {
      if (life.command.offset < end) continue
      life.gone = true
      this.#excuse(life)
    }
  }

  /** Nobody can tell what comes at these offsets from what was there before. */
  unknowable(tp: TopicPartition, from: number, to: number): void {
    this.counts.unknowable++
    this.#unknowable.set(tpOf(tp), Math.max(to, this.#unknowable.get(tpOf(tp)) ?? 0))
    for (const life of this.#lastOn(tp)) {
      if (life.command.offset >= from && life.command.offset < to) this.#excuse(life)
    }
  }

  /** The commands that are on the partition. */
  #lastOn(tp: TopicPartition): Life[] {
    return [...this.#byPhone.values()].filter(({ command, gone }) => !gone && tpOf(command) === tpOf(tp))
  }

  crashed(owner: Owner): void {
    this.#crashed.add(owner)
  }

  ownerOf(tp: TopicPartition): Owner | undefined {
    return this.#assigned.get(tpOf(tp))
  }

  /** Up to where the group's checkpoint says something. */
  windowEnd(tp: TopicPartition): number {
    const last = this.#commits.get(tpOf(tp))
    if (!last) return 0
    const { window } = unpackCheckpoint(last.offset, last.metadata)
    return window.base + window.length
  }

  joining(owner: Owner): void {
    this.#leases.delete(owner)
  }

  assigned(owner: Owner, partitions: readonly TopicPartition[]): void {
    for (const tp of partitions) {
      if (this.#assigned.get(tpOf(tp)) !== owner) this.#handedOver.set(tpOf(tp), this.#options.now())
      this.#assigned.set(tpOf(tp), owner)
    }
  }

  heartbeatSent(owner: Owner): void {
    this.#leases.set(owner, {
      until: Number.NEGATIVE_INFINITY,
      ...this.#leases.get(owner),
      sentAt: this.#options.now(),
    })
  }

  heartbeatAnswered(owner: Owner): void {
    const lease = this.#leases.get(owner)
    if (lease) lease.until = lease.sentAt + this.#options.leaseMs
  }

  committed(owner: Owner, tp: TopicPartition, offset: number, metadata: string | null): void {
    this.#commits.set(tpOf(tp), { owner, offset, metadata })
    this.#haveCommitted = true
  }

  /** Between two transactions. */
  checkIntents(): void {
    if (!this.#haveCommitted) return
    this.#haveCommitted = false
    const { drains, maxIntents, wasDisturbed } = this.#options
    if (!drains || wasDisturbed()) return
    const counts = new Map<Owner, number>()
    for (const { owner, offset, metadata } of this.#commits.values()) {
      const { window } = unpackCheckpoint(offset, metadata)
      const states = Array.from({ length: window.length }, (_, i) => window.get(offset + i))
      counts.set(owner, (counts.get(owner) ?? 0) + states.filter(state => state === INTENT).length)
    }
    for (const [owner, count] of counts) {
      if (count > maxIntents) this.accuse('a kill leaves few in doubt', `${owner.name} has ${count} intents`)
    }
  }

  /** An operator reset the group's offset there: its checkpoint is gone. */
  reset(tp: TopicPartition): void {
    this.#commits.delete(tpOf(tp))
  }

  /** Operators pause something, or let it go on. */
  paused(change: Scope & { paused: boolean; at: number }): void {
    if (!change.paused) this.#paused.delete(keyOf(change))
    else if (!this.#paused.has(keyOf(change))) this.#paused.set(keyOf(change), change.at)
  }

  #checkPause(owner: Owner, { command: { plan, phone, topic } }: Life, name: string): void {
    const { now, pauseMs, hearsSince } = this.#options
    const { tenant } = referencesOf(plan, phone)
    for (const key of [`topic/${topic}`, `account/${plan.account}`, `tenant/${tenant}`]) {
      const since = this.#paused.get(key)
      if (since === undefined || now() <= Math.max(since, hearsSince(owner)) + pauseMs) continue
      this.accuse(
        'no POST of what is paused',
        `${owner.name} POSTs ${name}, and ${key} is paused since ${now() - since} ms`,
      )
    }
  }

  /** A process wants a connection for a request. */
  asked({ data }: Envelope): void {
    for (const { phone } of data) if (phone !== undefined) this.#byPhone.get(phone)!.asked = true
  }

  /** A process writes the first byte of a request. */
  began(owner: Owner, { auth, data }: Envelope): void {
    this.#checkRate(auth, data.length)
    for (const { phone } of data) if (phone !== undefined) this.#beganOne(owner, this.#byPhone.get(phone)!)
  }

  #checkRate(auth: string, operations: number): void {
    const now = this.#options.now()
    const lastSecond = (this.#begun.get(auth) ?? []).filter(({ at }) => at > now - 1000)
    this.#begun.set(auth, [...lastSecond, { at: now, operations }])
    const count = lastSecond.reduce((sum, earlier) => sum + earlier.operations, operations)
    if (count > this.#options.rate) this.accuse('no POST above the rate', `${count} operations of ${auth} in a second`)
  }

  #beganOne(owner: Owner, life: Life): void {
    const now = this.#options.now()
    const { command, places } = life
    life.began = { at: now, owner }
    life.endedAt = null
    this.counts.posts++
    if (this.#stopping.has(owner)) this.accuse('no POST after a stop', `${owner.name} POSTs ${this.#name(life)}`)
    if (places.length > 1) this.counts.sentAgain++
    const name = this.#name(life)
    this.#checkPause(owner, life, name)
    if (life.doubt && life.doubt.omitted !== null) {
      this.accuse('sent again only in doubt', `${name} is POSTed, and its doubt is without the command`)
    }
    if (command.deadline !== null && now > command.deadline) {
      this.accuse('no POST after the deadline', `${name} is POSTed ${now - command.deadline} ms after its deadline`)
    }
    if (now > command.publishedAt + this.#options.maxAgeMs) {
      this.accuse(
        'no POST after the deadline',
        `${name} is POSTed ${now - command.publishedAt} ms after it was written`,
      )
    }
    if (life.underway > 0)
      this.accuse('one POST at a time', `${name} is POSTed while another POST may still be executed`)
    const intents = places.filter(place => this.#isIntent(owner, place))
    if (intents.length === 0) {
      this.accuse('intent before POST', `${owner.name} POSTs ${name} without having committed that it would`)
      return
    }
    const until = this.#leases.get(owner)?.until ?? Number.NEGATIVE_INFINITY
    if (now >= until) {
      this.accuse('no POST after the lease', `${owner.name} POSTs ${name}, ${now - until} ms after its lease`)
    } else if (!intents.some(place => this.#assigned.get(tpOf(place)) === owner)) {
      this.accuse('no POST after the lease', `${owner.name} POSTs ${name}, but ${tpOf(intents[0]!)} is another's`)
    }
  }

  /** The process knows what came of the request. */
  ended({ data }: Envelope): void {
    for (const { phone } of data) if (phone !== undefined) this.#byPhone.get(phone)!.endedAt = this.#options.now()
  }

  /** Requests that the gateway is going to get. @returns what to call when it does */
  underway({ data }: Envelope): () => void {
    const lives = data.flatMap(({ phone }) => (phone === undefined ? [] : [this.#byPhone.get(phone)!]))
    for (const life of lives) life.underway++
    return () => {
      for (const life of lives) life.underway--
    }
  }

  #isIntent(owner: Owner, place: Place): boolean {
    const last = this.#commits.get(tpOf(place))
    return last?.owner === owner && stateIn(last, place) === INTENT
  }

  executed(phone: number): void {
    const life = this.#byPhone.get(phone)!
    const { command } = life
    this.counts.executions++
    life.executions++
    const { policy } = command
    const twin = this.#twins(life).find(({ executions }) => executions > 0)
    if (twin && !this.#cut.has(tpOf(command))) {
      this.accuse('at most once', `${this.#name(life)} is executed, and so was ${this.#name(twin)} with the same id`)
    }
    if (policy === 'AT_MOST_ONCE' && life.executions > 1) {
      this.accuse('at most once', `${this.#name(life)} is executed ${life.executions} times under AT_MOST_ONCE`)
    }
    if (life.executions > 1 && life.places.length === 1) {
      this.accuse('sent again only in doubt', `${this.#name(life)} is executed again, and never was in doubt`)
    }
    if (life.executions > this.#options.attempts) {
      this.accuse('sent again only in doubt', `${this.#name(life)} is executed ${life.executions} times`)
    }
  }

  doubted(doubt: Doubt, place: Place): void {
    const { topic, partition, offset, cause, omitted, value, headers } = doubt
    const life = this.#lifeAt({ topic, partition, offset }, one => isOf(one, doubt))
    if (!life) {
      this.accuse('the result tells the truth', `a doubt about ${topic}/${partition}@${offset}, which is no command`)
      return
    }
    this.#checkReferences(life, doubt, omitted)
    life.doubt = doubt
    const { bulk } = life.command.plan
    if (omitted !== null || (bulk.headers && headers.length === 0)) this.#leftOut(life, 'doubts')
    if ((omitted === null) !== value.length > 0) {
      this.accuse('only what is too large is left out', `${this.#name(life)} is missing in its doubt: ${omitted}`)
    }
    life.places.push(place)
    this.counts.doubts++
    if (cause === 'taken_over') this.counts.takenOver++
    const { takesBack, wasDisturbed } = this.#options
    if (cause === 'taken_over' && !life.asked && takesBack && !wasDisturbed()) {
      this.accuse(
        'no doubt without a cause',
        `${this.#name(life)} is in doubt, and nobody ever asked for a connection to send it`,
      )
    }
    if (omitted !== null) this.counts.omitted++
  }

  deadLetter({ key, headers, value }: BusRecord): void {
    const text = (name: string) => String(headers[`busgate.error.${name}`])
    const place = { topic: text('topic'), partition: Number(text('partition')), offset: Number(text('offset')) }
    const life = this.#lifeAt(place, ({ command: { plan } }) => isUnreadable(plan) && Number(key) === plan.id)
    if (!life) {
      this.accuse('one final result', `a dead letter of ${placeOf(place)}, which is no command`)
      return
    }
    life.deadLetters++
    const told = text('message').includes('too large to be copied: its value')
    if (told) this.#leftOut(life, 'deadLetters')
    if (told !== (value === null) || (!told && life.command.plan.bulk.headers && !headers.note)) {
      this.accuse('only what is too large is left out', `the dead letter of ${this.#name(life)}: ${text('message')}`)
    }
    if (!isUnreadable(life.command.plan)) {
      this.accuse(
        'the result tells the truth',
        `${this.#name(life)} can be read, and is a dead letter: ${text('code')}`,
      )
    }
    this.#end(life)
  }

  result(result: SendResult): void {
    const { commandTopic: topic, commandPartition: partition, commandOffset: offset, outcome, final } = result
    const life = this.#lifeAt({ topic, partition, offset }, one => isOf(one, result))
    if (!life) {
      this.accuse('one final result', `a result of ${topic}/${partition}@${offset}, which is no command`)
      return
    }
    this.#checkOrder(life, result)
    this.#checkReferences(life, result, result.error)
    if (result.error?.includes('too large for the topic, so')) this.#leftOut(life, 'results')
    life.results.push(result)
    if (!final) return
    if (outcome === 'UNRESOLVED') this.counts.unresolved++
    this.#checkTruth(life, result)
    this.#end(life)
  }

  /** The command that is meant, where others stood before. */
  #lifeAt(place: Place, isMeant: (life: Life) => boolean): Life | undefined {
    const lives = this.#byPlace.get(placeOf(place)) ?? []
    return lives.findLast(isMeant) ?? lives.at(-1)
  }

  /** @param told where it says what is left out */
  #checkReferences(life: Life, copy: Pick<SendResult, 'correlationId' | 'tenant'>, told: string | null): void {
    const { plan, phone } = life.command
    const original = life.doubt ?? referencesOf(plan, phone)
    for (const name of ['correlationId', 'tenant'] as const) {
      if (copy[name] === original[name] || (copy[name] === null && told?.includes('too large'))) continue
      this.accuse('only what is too large is left out', `the ${name} of ${this.#name(life)} is ${copy[name]}`)
    }
  }

  #leftOut(life: Life, topic: Limit['topic']): void {
    const { size, plan, phone } = life.command
    const { correlationId, tenant } = referencesOf(plan, phone)
    const copied = size + `${correlationId}${tenant}`.length // a doubt has them beside the command, too
    this.counts.shortened++
    if (copied + ownBytes > this.#options.leastTaken(topic)) return
    this.accuse('only what is too large is left out', `${this.#name(life)} has ${copied} bytes, which ${topic} take`)
  }

  #end(life: Life): void {
    const ends = this.#ends(life)
    if (ends === 1) this.#open -= life.deleted ? 0 : 1
    else {
      const outcomes = life.results.map(({ outcome }) => outcome).join(', ')
      this.accuse('one final result', `${this.#name(life)} has ${ends}: ${outcomes}, dead letters ${life.deadLetters}`)
    }
  }

  #ends({ results, deadLetters }: Life): number {
    return results.filter(({ final }) => final).length + deadLetters
  }

  #checkOrder(life: Life, { outcome }: SendResult): void {
    const doubted = life.results.some(result => result.outcome === 'IN_DOUBT')
    const allowed = doubted
      ? ['SENT', 'UNRESOLVED']
      : ['IN_DOUBT', 'SENT', 'REJECTED', 'INVALID', 'EXPIRED', 'DUPLICATE']
    if (!allowed.includes(outcome)) {
      const before = doubted ? 'after IN_DOUBT' : 'without IN_DOUBT before'
      this.accuse('a doubt ends SENT or UNRESOLVED', `${this.#name(life)} is ${outcome} ${before}`)
    }
  }

  /** Checks what can be told at once; that something was not executed can be told only in the end. */
  #checkTruth(life: Life, { outcome, errorCode, error }: SendResult): void {
    const { plan, deadline, publishedAt } = life.command
    const now = this.#options.now()
    const lie = (why: string) =>
      this.accuse('the result tells the truth', `${this.#name(life)} is ${outcome}, but ${why}`)
    const twinWasSent = this.#cut.has(tpOf(life.command)) && this.#twins(life).some(({ executions }) => executions > 0)
    if (outcome === 'SENT' && life.executions === 0 && !twinWasSent) lie('was not executed')
    const isBlamed = outcome === 'REJECTED' || (outcome === 'UNRESOLVED' && errorCode === 'REJECTED')
    if (isBlamed && error === texts.outage && plan.reaction !== 'poison' && this.#options.blamesOutages)
      lie('only outages refused it')
    if (outcome === 'INVALID' && plan.kind !== 'invalid' && plan.kind !== 'stranger') lie('can be sent')
    if (outcome === 'DUPLICATE' && this.#twins(life).length === 0) lie('no other command has its id')
    const expired = (deadline !== null && now > deadline) || now > publishedAt + this.#options.maxAgeMs
    if ((outcome === 'EXPIRED' || errorCode === 'DEADLINE' || errorCode === 'MAX_AGE') && !expired)
      lie('it is not late')
  }

  callbackKept(body: string): void {
    const { id, msg_id, status } = JSON.parse(body)
    const key = `${id} ${msg_id} ${status}`
    if (!this.#statuses.has(key)) this.accuse('a callback answered 200 is kept', `${body} is not on the topic`)
  }

  status({ id, msgId, status, verified, correlationId, reply, error }: StatusEvent): void {
    this.#statuses.add(`${id} ${msgId} ${status}`)
    const executed = [...this.#byPhone.values()].find(({ executions, command: { plan, phone } }) => {
      const tooLong = correlationId === null && (plan.bulk.correlationId ?? plan.bulk.tenant) !== undefined
      const fits = tooLong || correlationId === referencesOf(plan, phone).correlationId // what the callback's address holds
      return executions > 0 && plan.id === Number(id) && fits
    })
    if (executed && error !== null) this.#leftOut(executed, 'statuses')
    if (executed?.command.plan.bulk.body && reply === null && error === null) {
      this.accuse('only what is too large is left out', `the reply to ${this.#name(executed)} is missing`)
    }
    if (!verified || !executed) {
      this.accuse('a callback answered 200 is kept', `a status of ${id} (${correlationId}) that nobody sent`)
    }
  }

  /** The other commands with the same id. */
  #twins(life: Life): Life[] {
    return [...this.#byPhone.values()].filter(other => other !== life && other.command.plan.id === life.command.plan.id)
  }

  /** Whoever heard what came of its POST publishes that, whatever became of the command's record. */
  checkGone(): void {
    const earlier = this.#options.now() - goneMs
    for (const life of this.#byPhone.values()) {
      const { gone, began, endedAt, executions, doubt, command } = life
      if (!gone || executions === 0 || doubt || this.#ends(life) > 0) continue
      if (!began || endedAt === null || endedAt > earlier) continue
      const { owner, at } = began
      const isHeld = this.#assigned.get(tpOf(command)) === owner && (this.#handedOver.get(tpOf(command)) ?? 0) < at
      if (isHeld && !this.#crashed.has(owner) && !this.#stopping.has(owner)) {
        this.accuse('one final result', `${this.#name(life)} was executed, ${owner.name} knows, and does not tell`)
      }
    }
  }

  /**
   * When nothing can happen any more.
   * @param checkpointOf what the group has committed
   * @param losses how often a process was stopped in the middle of its work, or kept from it
   */
  conclude(checkpointOf: (tp: TopicPartition) => Omit<Commit, 'owner'> | null, losses: number): void {
    const { drains, maxIntents } = this.#options
    for (const life of this.#byPhone.values()) {
      if (life.deleted) continue
      this.#checkEnd(life)
      for (const place of life.gone ? life.places.slice(1) : life.places) {
        const committed = checkpointOf(place)
        if (!committed || stateIn(committed, place) !== DONE)
          this.accuse('one final result', `${this.#name(life)} is not done at ${placeOf(place)}`)
      }
    }
    if (drains && this.counts.takenOver > losses * maxIntents) {
      this.accuse('no doubt without a cause', `${this.counts.takenOver} in doubt, ${losses} processes lost or held up`)
    }
  }

  #checkEnd(life: Life): void {
    if (this.#ends(life) === 0) this.accuse('one final result', `${this.#name(life)} has none`)
    const result = life.results.find(({ final }) => final)
    const final = result?.outcome ?? ''
    if (result && result.attempts < life.executions) {
      this.accuse('the result tells the truth', `${this.#name(life)} was executed more often than it was sent`)
    }
    if (['REJECTED', 'INVALID', 'EXPIRED', 'DUPLICATE'].includes(final) && life.executions > 0) {
      this.accuse('the result tells the truth', `${this.#name(life)} is ${final}, but was executed`)
    }
    if (final === 'DUPLICATE' && this.#twins(life).every(({ results }) => results.at(-1)?.outcome === 'DUPLICATE')) {
      this.accuse('the result tells the truth', `${this.#name(life)} is DUPLICATE, as are all commands with its id`)
    }
  }

  #name({ command: { plan, topic, partition, offset } }: Life): string {
    return `command ${plan.id} (${plan.type}, ${topic}/${partition}@${offset})`
  }
}
