import type { Alert } from './api.ts'
import { type Dashboard, nothingIn, type Shown } from './frames.ts'

/** Queries that rightly show nothing, or only zeros, after a run: dashboard, panel, query, and why. */
const quiet: readonly (readonly [dashboard: string, panel: string, query: string, why: string])[] = [
  ['busgate-callbacks', 'Forgotten verdicts', 'A', 'takes more messages without a verdict than a run of minutes has'],
  [
    'busgate-overview',
    'Processes that do not answer',
    'B',
    'takes a process that waits for the brokers or the registry',
  ],
  ['busgate-kafka', 'Sessions ended by a newer owner', 'A', 'takes a process that stalls, not one that stops'],
]

/** Says what is wrong with what was seen; empty: nothing. */
export function judge(seen: readonly [Dashboard, Shown[]][], alerts: readonly Alert[]): string[] {
  return [
    ...seen.flatMap(([dashboard, shown]) => shown.flatMap(one => emptiness(dashboard, one))),
    ...alerts.flatMap(broken),
  ]
}

function emptiness({ uid }: Dashboard, { panel, frames }: Shown): string[] {
  return frames.flatMap(frame => {
    const nothing = nothingIn(frame)
    const excused = quiet.some(([d, p, q]) => d === uid && p === panel.title && q === frame.refId)
    return nothing && !excused ? [`${uid}, ${panel.title}, query ${frame.refId}: ${nothing}: ${frame.expr}`] : []
  })
}

/** Prometheus writes what it cannot make out of a template into the text. */
function broken({ labels, annotations }: Alert): string[] {
  return Object.values(annotations).flatMap(text =>
    /<error|<no value>|%!/.test(text) ? [`${labels.alertname}: ${text}`] : [],
  )
}
