import { SchemaNotFound } from '../../src/records/errors.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'

export interface LaggingRegistry extends SchemaRegistry {
  /** While true, every schema is reported as not found. */
  isLagging: boolean
  /** The only schema that is missing while it lags; null: all are. */
  only: number | null
  /** The requested schema ids, in order. */
  asked: number[]
}

/** A registry that can lose its schemas for a while, as a lagging replica or one being restored does. */
export function laggingRegistry(inner: SchemaRegistry = embeddedRegistry()): LaggingRegistry {
  const registry: LaggingRegistry = {
    isLagging: false,
    only: null,
    asked: [],
    idOf: inner.idOf,
    async schemaOf(id) {
      registry.asked.push(id)
      if (registry.isLagging && id === (registry.only ?? id)) throw new SchemaNotFound(`no schema ${id}`)
      return inner.schemaOf(id)
    },
  }
  return registry
}
