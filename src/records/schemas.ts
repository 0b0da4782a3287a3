import { readFileSync } from 'node:fs'
import { packageRoot } from '../package.ts'

/** The published schemas, from schemas/*.avsc. */
export const schemas = {
  command: load('send-command'),
  result: load('send-result'),
  status: load('status-event'),
  doubt: load('doubt'),
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

function load(name: string): AvroRecord {
  return JSON.parse(readFileSync(new URL(`schemas/${name}.avsc`, packageRoot), 'utf8'))
}
