/** Definite: the registry says that there is no schema with that id. */
export class SchemaNotFound extends Error {
  override readonly name = 'SchemaNotFound'
}

/** Definite: there is a schema, and it cannot be read here. */
export class SchemaUnreadable extends Error {
  override readonly name = 'SchemaUnreadable'
}

/** Definite: the registry does not take the schema. */
export class SchemaRefused extends Error {
  override readonly name = 'SchemaRefused'
}

/** The registry could not be asked, or what answered is no registry. Try again. */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable'
}
