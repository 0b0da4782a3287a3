import type { Fleet, Process } from '../fleet/fleet.ts'
import { partitionsOwned } from '../fleet/held-back.ts'
import type { Hold } from '../fleet/holds.ts'
import { count, grouped, sentence, timeText } from '../words.ts'
import { jsonText, printable } from './framework/terminal.ts'

export const holdLine = ({ text, mend }: Hold): string => printable(`${sentence(text)} ${mend}`.trimEnd())

export function holdJson({ kind, since, probeAt, ...hold }: Hold): string {
  return jsonText({ hold: kind, ...hold, since: instantText(since), probeAt: instantText(probeAt) })
}

const instantText = (ms: number | null) => (ms === null ? null : timeText(ms))

/** Most processes that are listed one by one. */
const mostListed = 20

/** A line for each process, and for each account that throttling has slowed down. */
export function fleetLines({ alive, silent, skipped }: Fleet): string[] {
  const all = [...alive.map(one => lineOf(one, false)), ...silent.map(one => lineOf(one, true))]
  const others = all.length - mostListed
  return [
    ...learntRates(alive).map(
      ({ account, learntPerSecond }) =>
        `account ${account}: throttling has slowed it down to ${grouped(learntPerSecond)} a second`,
    ),
    ...all.slice(0, mostListed),
    ...(others > 0 ? [`and ${count(others, 'more process')}`] : []),
    ...(skipped > 0 ? [`${count(skipped, 'record')} on the topic of reports cannot be read`] : []),
  ].map(printable)
}

function lineOf(process: Process, isSilent: boolean): string {
  const { name, seenAt, report } = process
  const what = `process ${name}: busgate ${report.version}, ${report.roles.join(', ')}`
  if (isSilent) return `${what}; silent ${timeText(seenAt, 'since')}`
  return `${what}; ${count(partitionsOwned(process), 'partition')}`
}

export function fleetJson({ alive, silent }: Fleet): string[] {
  const jsonOf = (process: Process, isSilent: boolean) => {
    const { version, roles, startedAt, reasons } = process.report
    const times = { startedAt: timeText(startedAt), seenAt: timeText(process.seenAt) }
    const partitions = partitionsOwned(process)
    return jsonText({ process: process.name, version, roles, ...times, silent: isSilent, partitions, reasons })
  }
  return [
    ...learntRates(alive).map(one => jsonText(one)),
    ...alive.map(one => jsonOf(one, false)),
    ...silent.map(one => jsonOf(one, true)),
  ]
}

function learntRates(processes: readonly Process[]): { account: string; learntPerSecond: number }[] {
  const rates = new Map<string, number>()
  for (const { report } of processes) {
    for (const [account, rate] of Object.entries(report.learnt)) rates.set(account, (rates.get(account) ?? 0) + rate)
  }
  return Array.from(rates, ([account, learntPerSecond]) => ({ account, learntPerSecond }))
}

/** Records of a topic that are settled a second now; null if unknown. */
export function ratePerSecond({ alive }: Fleet, topic: string): number | null {
  const rates = alive.flatMap(({ report }) => Object.values(report.owned[topic] ?? {}))
  if (rates.length === 0 || rates.includes(null)) return null
  return Math.round(rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0) * 10) / 10
}
