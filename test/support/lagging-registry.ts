import { embeddedRegistry, SchemaNotFound, type SchemaRegistry } from '../../src/records/registry.ts'

export interface LaggingRegistry extends SchemaRegistry {
  /** While it lags it has none of its schemas. */
  isLagging: boolean
  /** The ids that were asked for, in their order. */
  asked: number[]
}

/** A registry behind a replica that lags, or that is being restored. */
export function laggingRegistry(inner: SchemaRegistry = embeddedRegistry()): LaggingRegistry {
  const registry: LaggingRegistry = {
    isLagging: false,
    asked: [],
    idOf: inner.idOf,
    async schemaOf(id) {
      registry.asked.push(id)
      if (registry.isLagging) throw new SchemaNotFound(`no schema ${id}`)
      return inner.schemaOf(id)
    },
  }
  return registry
}
