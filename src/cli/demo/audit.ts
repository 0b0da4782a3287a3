import type { Bus, BusRecord, TopicPartition } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { decodeAll } from '../../inspect/scan.ts'
import { type SendType, sendTypes } from '../../protocol/index.ts'
import { createDecoder, type Decoded } from '../../records/decoder.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import type { SchemaRegistry } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'
import type { Sandbox } from '../../sandbox/index.ts'
import { callbacksOf, idOf, indexOf, typeOf } from './scenario.ts'

/** Audit is what is on the topics, as a consumer from outside reads it; by the number of the command. */
export interface Audit {
  /** The final result's. */
  outcomes: (SendResult['outcome'] | undefined)[]
  errorCodes: (string | null)[]
  /** How many final results. */
  finals: Uint8Array
  /** The states of the status events. */
  states: StatusEvent['state'][][]
  /** Commands that were in doubt at some time. */
  doubted: Uint8Array
  /** Commands that have a final result. */
  finished: number
  /** Records of results and statuses, by outcome and by state. */
  results: CountByName
  statuses: CountByName
  /** Records that ought not to be there: of other ids, undecodable, dead letters. */
  strays: number
  /** Monotonic milliseconds of the last record. */
  lastAt: number
  close(): Promise<void>
}

export async function startAudit(
  settings: Settings,
  bus: Bus,
  registry: SchemaRegistry,
  count: number,
): Promise<Audit> {
  const { topics } = settings
  const results = createDecoder<SendResult>(schemas.result, registry)
  const statuses = createDecoder<StatusEvent>(schemas.status, registry)
  const audit: Audit = {
    outcomes: new Array(count),
    errorCodes: new Array(count),
    finals: new Uint8Array(count),
    states: Array.from({ length: count }, () => []),
    doubted: new Uint8Array(count),
    finished: 0,
    results: {},
    statuses: {},
    strays: 0,
    lastAt: performance.now(),
    close: () => reader.close(),
  }
  const reader = await bus.read([topics.results, topics.statuses, topics.deadLetters], 'earliest', onRecords)
  return audit

  async function onRecords({ topic }: TopicPartition, records: readonly BusRecord[]): Promise<void> {
    if (topic === topics.results) for (const one of await decodeAll(results, records)) visit(one, noteResult)
    else if (topic === topics.statuses) for (const one of await decodeAll(statuses, records)) visit(one, noteStatus)
    else audit.strays += records.length
    audit.lastAt = performance.now()
  }

  function visit<T extends { id: bigint }>(decoded: Decoded<T>, note: (index: number, value: T) => void): void {
    const index = decoded.ok ? indexOf(decoded.value.id) : -1
    if (decoded.ok && index >= 0 && index < count) note(index, decoded.value)
    else audit.strays++
  }

  function noteResult(index: number, { outcome, final, errorCode }: SendResult): void {
    increment(audit.results, outcome)
    if (!final) {
      audit.doubted[index] = 1
      return
    }
    if (audit.finals[index]!++ === 0) audit.finished++
    audit.outcomes[index] = outcome
    audit.errorCodes[index] = errorCode
  }

  function noteStatus(index: number, { state }: StatusEvent): void {
    increment(audit.statuses, state)
    audit.states[index]!.push(state)
  }
}

export type CountByName = Record<string, number>

/** Commands of one kind: how many, with which outcome each, and their status events. */
interface KindRow {
  kind: SendType
  commands: number
  outcomes: CountByName
  states: CountByName
}

/** Reckoning is what became of the demo's commands, the topics held against the gateway's own books. */
export interface Reckoning {
  commands: number
  kinds: KindRow[]
  results: {
    /** Numbers of commands by outcome, each command once. */
    outcomes: CountByName
    errorCodes: CountByName
    missing: number
    moreThanOneFinal: number
    /** The outcomes of those that were in doubt for a while. */
    afterDoubt: CountByName
  }
  gateway: {
    /** Messages executed, each billed. */
    billed: number
    billedTwice: number
    /** Results that say SENT of what was not executed, or refused of what was. */
    contradicted: number
  }
  statuses: {
    states: CountByName
    /** Callbacks that were answered 200. */
    accepted: number
    /** Callbacks that the gateway has given up. */
    givenUp: number
    /** Status events that the executed messages owe, and that are not on the topic. */
    missing: number
    /** Events above the callbacks that were answered 200: their answer was lost, and the gateway sent them again. */
    repeated: number
  }
  /** Records that ought not to be on the topics. */
  strays: number
  /** Whether all of this is as promised. */
  ok: boolean
}

/** Outcomes that leave open whether the gateway executed the message. */
const open = new Set<string | undefined>(['UNRESOLVED', undefined])

export function reckon(count: number, audit: Audit, sandbox: Sandbox): Reckoning {
  const stats = sandbox.stats()
  const kinds = new Map(sendTypes.map(kind => [kind, { kind, commands: 0, outcomes: {}, states: {} } as KindRow]))
  const results = { outcomes: {}, errorCodes: {}, afterDoubt: {}, missing: 0, moreThanOneFinal: 0 }
  const states: CountByName = {}
  let contradicted = 0
  for (let index = 0; index < count; index++) {
    const row = kinds.get(typeOf(index))!
    const outcome = audit.outcomes[index]
    const errorCode = audit.errorCodes[index]
    const executions = sandbox.executions(idOf(index))
    row.commands++
    for (const counts of [row.outcomes, results.outcomes]) if (outcome) increment(counts, outcome)
    for (const state of audit.states[index]!) for (const counts of [row.states, states]) increment(counts, state)
    if (outcome === 'REJECTED' && errorCode) increment(results.errorCodes, errorCode)
    if (outcome === undefined) results.missing++
    if (outcome && audit.doubted[index]) increment(results.afterDoubt, outcome)
    if (audit.finals[index]! > 1) results.moreThanOneFinal++
    if (!open.has(outcome) && (outcome === 'SENT') !== executions > 0) contradicted++
  }
  const { accepted, failed: givenUp } = stats.callbacks
  const events = Object.values(states).reduce((sum, number) => sum + number, 0)
  const repeated = Math.max(0, events - accepted)
  const reckoning = {
    commands: count,
    kinds: [...kinds.values()],
    results,
    gateway: { billed: stats.executed, billedTwice: stats.billedTwice, contradicted },
    statuses: { states, accepted, givenUp, missing: missingStatuses(count, audit, sandbox), repeated },
    strays: audit.strays,
  }
  return { ...reckoning, ok: isAsPromised(reckoning) }
}

/** Tells how many status events are not on the topic that the callbacks of the messages executed so far owe. */
export function missingStatuses(count: number, audit: Audit, sandbox: Sandbox): number {
  let missing = 0
  for (let index = 0; index < count; index++) {
    const owed = callbacksOf(index)
    const there = audit.states[index]!.length
    if (there < owed && sandbox.executions(idOf(index)) > 0) missing += owed - there
  }
  return missing
}

function isAsPromised({ results, gateway, statuses, strays }: Omit<Reckoning, 'ok'>): boolean {
  const wrong = [
    results.missing,
    results.moreThanOneFinal,
    gateway.billedTwice,
    gateway.contradicted,
    statuses.givenUp,
    statuses.missing,
    strays,
  ]
  return wrong.every(count => count === 0)
}

function increment(counts: CountByName, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1
}
