import type { GaugeName } from './definitions.ts'

/** A room's answer to "how is it now?". `labels` are those of the metric, no more and no less. */
export interface GaugeSource {
  read(): Iterable<{ name: GaugeName; labels: Record<string, string>; value: number }>
}
