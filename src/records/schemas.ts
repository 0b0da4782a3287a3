import { schemaTexts } from './generated.ts'

/** The published schemas, from schemas/*.avsc. */
export const schemas = {
  command: parsed('command'),
  result: parsed('result'),
  status: parsed('status'),
  doubt: parsed('doubt'),
}

export interface AvroRecord {
  type: 'record'
  name: string
  namespace?: string
  doc: string
  fields: AvroField[]
}

export interface AvroField {
  name: string
  type: AvroType
  doc: string
  default?: unknown
}

export interface AvroEnum {
  type: 'enum'
  name: string
  doc: string
  symbols: string[]
  default?: string
}

/** The subset of Avro that the published schemas use. A string names a primitive or a record defined before. */
export type AvroType =
  | string
  | AvroRecord
  | AvroEnum
  | { type: 'array'; items: AvroType }
  | { type: 'map'; values: AvroType }
  | { type: 'long'; logicalType: 'timestamp-millis' }
  | AvroType[]

/** TopicNameStrategy: the registry's subject for the values of a topic. */
export function subjectOf(topic: string): string {
  return `${topic}-value`
}

function parsed(name: keyof typeof schemaTexts): AvroRecord {
  return JSON.parse(schemaTexts[name])
}

/** Whether a field of the outermost record is an id. Ids go up to 2^63-1. */
export function isId(field: { name: string; type: unknown }): boolean {
  return field.name === 'id' && field.type === 'long'
}
