import { type OpenMetricsContentType, Registry } from 'prom-client'

/** Takes exemplars, which no registry of the text format does. */
export type MetricRegistry = Registry<OpenMetricsContentType>

export function createRegistry(): MetricRegistry {
  const registry: MetricRegistry = new Registry()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

/** The metrics as text, in the format that whoever asks understands. */
export interface Exposition {
  /** @param accept the request's Accept header */
  text(accept: string | undefined): Promise<{ contentType: string; body: string }>
}

/** OpenMetrics, which carries exemplars, to those who name it; the text format of Prometheus to all others. */
export function exposition(registry: MetricRegistry): Exposition {
  const plain = plainRegistry(registry)
  return {
    async text(accept = '') {
      const chosen = accept.includes('application/openmetrics-text') ? registry : plain
      return { contentType: chosen.contentType, body: await chosen.metrics() }
    },
  }
}

/**
 * Puts the metrics into a registry of the text format. An OpenMetrics registry takes the `_total` from the names of the
 * counters it shows, for good; so this one holds stand-ins that keep a name of their own.
 */
function plainRegistry(registry: MetricRegistry): Registry {
  const plain = new Registry()
  for (const { name } of registry.getMetricsAsArray()) {
    plain.registerMetric(Object.assign(Object.create(registry.getSingleMetric(name)!), { name }))
  }
  return plain
}
