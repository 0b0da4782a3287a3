import type { Bus, BusRecord, TopicPartition } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { decodeAll } from '../../inspect/decode-all.ts'
import { createDecoder, type Decoded } from '../../records/decoder.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import type { SchemaRegistry } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'
import { indexOf } from './scenario.ts'

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
  results: Map<string, number>
  statuses: Map<string, number>
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
    results: new Map(),
    statuses: new Map(),
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

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
