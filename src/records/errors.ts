import { byCode } from '../telemetry/error.ts'

/** The registry has no schema with that id, or refuses it for good: it answers for others. */
export class SchemaNotFound extends Error {
  /** Recognises any error with this code. */
  static override [Symbol.hasInstance] = byCode('SCHEMA_NOT_FOUND')
  override readonly name = 'SchemaNotFound'
  readonly code = 'SCHEMA_NOT_FOUND'
}

/** The schema exists, but this version cannot read it. */
export class SchemaUnreadable extends Error {
  /** Recognises any error with this code. */
  static override [Symbol.hasInstance] = byCode('SCHEMA_UNREADABLE')
  override readonly name = 'SchemaUnreadable'
  readonly code = 'SCHEMA_UNREADABLE'
}

/** The registry refuses to register the schema. */
export class SchemaRefused extends Error {
  /** Recognises any error with this code. */
  static override [Symbol.hasInstance] = byCode('SCHEMA_REFUSED')
  override readonly name = 'SchemaRefused'
  readonly code = 'SCHEMA_REFUSED'
}

/** The registry does not answer, or answers with an error. Retry. */
export class RegistryUnavailable extends Error {
  /** Recognises any error with this code. */
  static override [Symbol.hasInstance] = byCode('REGISTRY_UNAVAILABLE')
  override readonly name = 'RegistryUnavailable'
  readonly code = 'REGISTRY_UNAVAILABLE'
}
