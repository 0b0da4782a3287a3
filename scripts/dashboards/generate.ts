/** Writes helm/dashboards/*.json, the dashboards for Grafana. */
import { writeGeneratedFolder } from '../generated-file.ts'
import { callbacks } from './callbacks.ts'
import { channels } from './channels.ts'
import { gateway } from './gateway.ts'
import { kafka } from './kafka.ts'
import { overview } from './overview.ts'

const made = [overview(), channels(), gateway(), kafka(), callbacks()].map(
  dashboard => [`${dashboard.uid}.json`, `${JSON.stringify(dashboard, removeMenuPlacement, 2)}\n`] as const,
)

/** Removes the placement in a menu, in which the builders put links and annotations. */
function removeMenuPlacement(key: string, value: unknown): unknown {
  return key === 'placement' && value === 'inControlsMenu' ? undefined : value
}

writeGeneratedFolder('helm/dashboards', new Map(made))
