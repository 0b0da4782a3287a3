import { styleText } from 'node:util'
import type { Bus, BusRecord, TopicPartition } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { operations, type SendType, sendTypes } from '../../protocol/index.ts'
import { createDecoder, type Decoded, decodeAll } from '../../records/decoder.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import type { SchemaRegistry } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'
import type { Sandbox } from '../../sandbox/index.ts'
import { indexOf, typeOf } from './scenario.ts'

type CountByName = Record<string, number>

/** Commands of one type: their number, final outcomes and verdicts. */
interface KindRow {
  commands: number
  outcomes: CountByName
  states: CountByName
}

/** Counts the records of the results and statuses topics, as an external consumer reads them. */
export class Audit {
  readonly total: KindRow = { commands: 0, outcomes: {}, states: {} }
  readonly #kinds = new Map<SendType, KindRow>()
  readonly #errorCodes: CountByName = {}
  /** Number of final results of each command. */
  readonly #finals: Uint8Array
  /** 1: the message has a verdict. */
  readonly #verdicts: Uint8Array
  #events = 0
  #doubted = 0
  /** Time of the last record, monotonic milliseconds. */
  lastAt = performance.now()

  constructor(commands: number) {
    this.#finals = new Uint8Array(commands)
    this.#verdicts = new Uint8Array(commands)
    for (const kind of sendTypes) this.#kinds.set(kind, { commands: 0, outcomes: {}, states: {} })
    for (let index = 0; index < commands; index++) for (const row of this.#rowsOf(index)) row.commands++
  }

  /** Reads both topics from their beginning. @returns a function that stops it */
  async follow(settings: Settings, bus: Bus, registry: SchemaRegistry): Promise<() => Promise<void>> {
    const { results, statuses } = settings.topics
    const resultDecoder = createDecoder<SendResult>(schemas.result, registry)
    const statusDecoder = createDecoder<StatusEvent>(schemas.status, registry)
    const onRecords = async ({ topic }: TopicPartition, records: readonly BusRecord[]) => {
      if (topic === results) this.#visit(await decodeAll(resultDecoder, records), (i, one) => this.#result(i, one))
      else this.#visit(await decodeAll(statusDecoder, records), (i, one) => this.#status(i, one))
      this.lastAt = performance.now()
    }
    const reader = await bus.read([results, statuses], 'earliest', onRecords)
    return () => reader.close()
  }

  /** Number of commands with a final result. */
  get finished(): number {
    return this.#finals.length - this.#count(0)
  }

  /** Compares the topics with the gateway's counts of executed messages and callbacks. */
  report(sandbox: Sandbox) {
    const { executed, ids, billedTwice, callbacks } = sandbox.stats()
    const { SENT = 0, UNRESOLVED = 0 } = this.total.outcomes
    const report = {
      ...this.total,
      kinds: Object.fromEntries(this.#kinds),
      errorCodes: this.#errorCodes,
      doubted: this.#doubted,
      results: { missing: this.#count(0), moreThanOneFinal: this.finished - this.#count(1) },
      // an UNRESOLVED message may or may not have been executed
      gateway: { executed, billedTwice, contradicting: Math.max(0, SENT - ids, ids - SENT - UNRESOLVED) },
      statuses: {
        accepted: callbacks.accepted,
        repeated: this.#events - sumOf(Object.values(this.total.states)),
        missing: Math.max(0, callbacks.accepted - this.#events),
        givenUp: callbacks.failed,
      },
    }
    const { results, gateway, statuses } = report
    const wrong = [
      results.missing + results.moreThanOneFinal,
      gateway.billedTwice + gateway.contradicting,
      statuses.missing + statuses.givenUp,
    ]
    return { ...report, ok: sumOf(wrong) === 0 }
  }

  #visit<T extends { id: bigint }>(all: readonly Decoded<T>[], note: (index: number, value: T) => void): void {
    for (const one of all) {
      if (one.ok && indexOf(one.value.id) < this.#finals.length) note(indexOf(one.value.id), one.value)
    }
  }

  #result(index: number, { outcome, final, errorCode }: SendResult): void {
    if (!final) {
      this.#doubted++
      return
    }
    this.#finals[index]!++
    for (const { outcomes } of this.#rowsOf(index)) increment(outcomes, outcome)
    if (outcome === 'REJECTED' && errorCode) increment(this.#errorCodes, errorCode)
  }

  #status(index: number, { state, final }: StatusEvent): void {
    this.#events++
    if (!final || this.#verdicts[index]) return // a callback may be repeated
    this.#verdicts[index] = 1
    for (const { states } of this.#rowsOf(index)) increment(states, state)
  }

  #rowsOf(index: number): KindRow[] {
    return [this.total, this.#kinds.get(typeOf(index))!]
  }

  #count(finals: number): number {
    return this.#finals.filter(one => one === finals).length
  }
}

type AuditReport = ReturnType<Audit['report']>

/** A table of the counts, and the checks. */
export function summaryText(report: AuditReport): string {
  const { errorCodes, doubted, results, gateway, statuses } = report
  return [
    ...tableOf(report),
    '',
    ...(sumOf(errorCodes) > 0 ? [`  REJECTED by the gateway: ${listOf(errorCodes)}`] : []),
    ...(doubted > 0
      ? [`  IN_DOUBT for a while: ${grouped(doubted)} (answers after gateway.timeoutMs: this machine is busy)`]
      : []),
    ...silentTextOf(report),
    check('results: one final one for each command', {
      missing: results.missing,
      'with two final ones': results.moreThanOneFinal,
    }),
    check(`gateway: ${grouped(gateway.executed)} messages executed`, {
      'billed twice': gateway.billedTwice,
      'contradicting results': gateway.contradicting,
    }),
    check(`statuses: ${grouped(statuses.accepted)} callbacks answered 200 (${grouped(statuses.repeated)} repeated)`, {
      'not on the topic': statuses.missing,
      'given up': statuses.givenUp,
    }),
  ].join('\n')
}

/** Says why fewer messages have a verdict than were sent. */
function silentTextOf({ kinds }: AuditReport): string[] {
  const silent = { withoutStatus: 0, lost: 0 }
  for (const [type, { outcomes, states }] of Object.entries(kinds)) {
    const unknown = (outcomes.SENT ?? 0) - sumOf(states)
    silent[operations[type as SendType].hasStatus ? 'lost' : 'withoutStatus'] += unknown
  }
  const reasons = [
    silent.withoutStatus > 0 && `call/otp and hlr have none ${grouped(silent.withoutStatus)}`,
    silent.lost > 0 && `callback lost at the gateway ${grouped(silent.lost)}`,
  ].filter(Boolean)
  return reasons.length > 0 ? [`  SENT without a verdict: ${reasons.join(', ')}`] : []
}

export function grouped(number: number): string {
  return number.toLocaleString('en-US')
}

/** "SENT 940, REJECTED 60" */
export function listOf(counts: CountByName): string {
  const parts = namesOf(counts).map(name => `${name} ${grouped(counts[name]!)}`)
  return parts.join(', ') || 'none yet'
}

function check(what: string, wrong: CountByName): string {
  const mark = sumOf(wrong) === 0 ? styleText('green', '✓') : styleText('red', '✗')
  return `${mark} ${what}; ${listOf(wrong)}`
}

function tableOf({ kinds, ...total }: AuditReport): string[] {
  const outcomes = namesOf(total.outcomes)
  const states = namesOf(total.states)
  const rowOf = (name: string, row: KindRow) => [
    name,
    grouped(row.commands),
    ...outcomes.map(outcome => grouped(row.outcomes[outcome] ?? 0)),
    '│',
    ...states.map(state => grouped(row.states[state] ?? 0)),
  ]
  const rows = [
    ['type', 'commands', ...outcomes, '│', ...states],
    ...Object.entries(kinds).map(([kind, row]) => rowOf(kind, row)),
    rowOf('all', total),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  const lines = rows.map(row =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  )
  const rule = '─'.repeat(lines[0]!.length)
  return [lines[0]!, rule, ...lines.slice(1, -1), rule, lines.at(-1)!]
}

/** Names, the most frequent first. */
const namesOf = (counts: CountByName) => Object.keys(counts).toSorted((a, b) => counts[b]! - counts[a]!)

function increment(counts: CountByName, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1
}

const sumOf = (counts: CountByName | readonly number[]) => Object.values(counts).reduce((sum, one) => sum + one, 0)
