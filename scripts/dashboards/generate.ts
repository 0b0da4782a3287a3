/** Writes helm/dashboards/*.json, the dashboards for Grafana. */
import { writeGeneratedFolder } from '../generated-file.ts'
import { callbacks } from './callbacks.ts'
import { channels } from './channels.ts'
import { gateway } from './gateway.ts'
import { kafka } from './kafka.ts'
import { overview } from './overview.ts'

const made = [overview(), channels(), gateway(), kafka(), callbacks()].map(
  dashboard => [`${dashboard.uid}.json`, `${JSON.stringify(dashboard, inSight, 2)}\n`] as const,
)

/** The builders hide links and annotations in a menu. */
function inSight(key: string, value: unknown): unknown {
  return key === 'placement' && value === 'inControlsMenu' ? undefined : value
}

writeGeneratedFolder('helm/dashboards', new Map(made))
