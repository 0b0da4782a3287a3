import { expect, test } from 'vitest'
import { refusals } from '../../src/callbacks/refusals.ts'
import { definitions } from '../../src/config/definitions.ts'
import { states } from '../../src/protocol/index.ts'
import { schemas } from '../../src/records/schemas.ts'
import * as label from '../../src/telemetry/labels.ts'

const sorted = (values: readonly string[]) => [...values].sort()

/** The symbols of a field's enum. */
function symbolsOf(schema: { fields: readonly { name: string; type: unknown }[] }, name: string): string[] {
  const { type } = schema.fields.find(field => field.name === name)!
  return (type as { symbols: string[] }).symbols
}

test('the outcomes, states, reasons and roles that metrics know are those there are', () => {
  expect(definitions.roles.type.parse(label.roles)).toEqual(label.roles)
  expect(sorted([...label.outcomes, 'UNKNOWN'])).toEqual(sorted(symbolsOf(schemas.result, 'outcome')))
  expect(sorted(states)).toEqual(sorted(symbolsOf(schemas.status, 'state')))
  expect(sorted(label.callbackRefusals)).toEqual(sorted(Object.keys(refusals)))
})
