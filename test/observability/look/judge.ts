import type { Alert } from './api.ts'
import { type Dashboard, nothingIn, type Shown } from './frames.ts'

/** Queries that may return nothing or only zeros after a run: dashboard, panel, query, and why. */
const quiet: readonly (readonly [dashboard: string, panel: string, query: string, why: string])[] = [
  ['busgate-callbacks', 'Forgotten verdicts', 'A', 'needs more messages without a verdict than a short run has'],
  [
    'busgate-overview',
    'Processes that do not answer',
    'B',
    'needs a process that waits for the brokers or the registry',
  ],
  ['busgate-kafka', 'Sessions ended by a newer owner', 'A', 'needs a process that stalls, not one that stops'],
]

/** Lists the faults in the panels and alerts. */
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

/** Finds errors that Prometheus wrote into the text of a template. */
function broken({ labels, annotations }: Alert): string[] {
  return Object.values(annotations).flatMap(text =>
    /<error|<no value>|%!/.test(text) ? [`${labels.alertname}: ${text}`] : [],
  )
}
