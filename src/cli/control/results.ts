import { allPartitions, partitionsOf } from '../../bus/partitions.ts'
import type { Bus, BusRecord } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { type Change, nameOf, type Withdrawal } from '../../control/change.ts'
import { decodeAll } from '../../inspect/scan.ts'
import { createDecoder } from '../../records/decoder.ts'
import type { SendResult } from '../../records/generated.ts'
import { registryOf } from '../../records/open.ts'
import { schemas } from '../../records/schemas.ts'

/** What became of the messages of a withdrawal, by the final results. Of one message `busgate message` tells it. */
export interface CountedResults {
  withdrawn: string
  /** The results since then were counted: older ones were written before any command that could be withdrawn. */
  since: string
  sent: number
  notSent: number
  /** Perhaps sent, and not sent again. */
  unresolved: number
  /** Why they were not sent. */
  codes: Record<string, number>
}

function isOf({ kind, name }: Withdrawal, { campaign, tenant, correlationId }: SendResult): boolean {
  if (kind === 'message') return false
  return { campaign, tenant, correlation_id: correlationId }[kind] === name
}

/** Looks through the results for those of what is withdrawn. */
export async function countResults(
  bus: Bus,
  settings: Settings,
  inForce: readonly Change[],
): Promise<CountedResults[]> {
  const withdrawals = inForce.filter((one): one is Withdrawal => one.effect === 'withdrawn' && one.kind !== 'message')
  if (withdrawals.length === 0) return []
  const { results } = settings.topics
  const since = Math.min(...withdrawals.map(({ at }) => at)) - settings.delivery.maxAgeMs
  const instant = new Date(since).toISOString()
  const counts = withdrawals.map(withdrawal => {
    const counted: CountedResults = {
      withdrawn: nameOf(withdrawal),
      since: instant,
      sent: 0,
      notSent: 0,
      unresolved: 0,
      codes: {},
    }
    return { withdrawal, counted }
  })
  const decoder = createDecoder<SendResult>(schemas.result, registryOf(settings))
  const take = async (records: readonly BusRecord[]) => {
    for (const decoded of await decodeAll(decoder, records)) {
      if (!decoded.ok || !decoded.value.final) continue
      for (const { withdrawal, counted } of counts) if (isOf(withdrawal, decoded.value)) add(counted, decoded.value)
    }
  }
  const needles = withdrawals.map(({ name }) => ({ bytes: Buffer.from(name) }))
  const ending = AbortSignal.timeout(longestMs)
  const partitions = (await partitionsOf(bus, [results])).get(results)!
  await Promise.all(
    allPartitions(results, partitions).map(tp => bus.search(tp, { from: since, needles, ending, take })),
  )
  return counts.map(({ counted }) => counted)
}

const longestMs = 10 * 60_000

function add(counted: CountedResults, { outcome, errorCode }: SendResult): void {
  if (outcome === 'SENT') counted.sent++
  else if (outcome === 'UNRESOLVED') counted.unresolved++
  else {
    counted.notSent++
    counted.codes[errorCode ?? outcome] = (counted.codes[errorCode ?? outcome] ?? 0) + 1
  }
}

export function resultsText({ withdrawn, since, sent, notSent, unresolved, codes }: CountedResults): string {
  const why = Object.entries(codes).map(([code, count]) => `${count} ${code}`)
  const reasons = why.length > 0 ? ` (${why.join(', ')})` : ''
  return `${withdrawn}, results since ${since}: ${sent} sent, ${notSent} not sent${reasons}, ${unresolved} unresolved`
}
