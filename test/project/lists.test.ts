import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { refusals } from '../../src/callbacks/refusals.ts'
import { httpStatuses } from '../../src/gateway/classify.ts'
import { queueCodes } from '../../src/gateway/outcome.ts'
import { operations, sendTypes } from '../../src/protocol/index.ts'
import { statusTexts } from '../../src/protocol/states.ts'
import { type AvroEnum, type AvroRecord, schemas } from '../../src/records/schemas.ts'
import { definitionOf, type MetricName, metricDefinitions } from '../../src/telemetry/definitions.ts'
import { doubtCauses, errorCodes, outcomes, policies, roles, states } from '../../src/vocabulary/lists.ts'

const read = (path: string): string => readFileSync(path, 'utf8')

function fieldOf(schema: AvroRecord, name: string) {
  const field = schema.fields.find(one => one.name === name)!
  const { symbols = [], doc = '' } = field.type as Partial<AvroEnum>
  return { doc: field.doc, symbols, enumDoc: doc }
}

/** The words in the first column of a document's tables. */
const firstCells = (path: string): string[] =>
  Array.from(read(path).matchAll(/^\| `?([\w ]+?)`?(?:, [^|]*)? \|/gm), ([, word]) => word!)

const named = (text: string): string[] => text.match(/\w+/g) ?? []

const [outcome, state] = [fieldOf(schemas.result, 'outcome'), fieldOf(schemas.status, 'state')]
const delivery = fieldOf(schemas.command, 'delivery')
const messages = (schemas.command.fields.find(({ name }) => name === 'message')!.type as AvroRecord[]).map(
  ({ name }) => name,
)

/** The places that are maintained by hand, each with the words of its list and those that it contains. */
const places: [place: string, words: readonly string[], known: readonly string[]][] = [
  ['schemas/send-result.avsc, symbols of outcome', [...outcomes, 'UNKNOWN'], outcome.symbols],
  ['schemas/send-result.avsc, doc of outcome', outcome.symbols, named(outcome.enumDoc)],
  ['schemas/send-result.avsc, doc of errorCode', errorCodes, named(fieldOf(schemas.result, 'errorCode').doc)],
  ['schemas/status-event.avsc, symbols of state', states, state.symbols],
  ['schemas/status-event.avsc, doc of state', states, named(state.enumDoc)],
  ['schemas/send-command.avsc, symbols of delivery', ['DEFAULT', ...policies], delivery.symbols],
  ['schemas/send-command.avsc, doc of delivery', delivery.symbols, named(delivery.enumDoc)],
  ['schemas/send-command.avsc, records of message', sendTypes.map(type => operations[type].record), messages],
  ['docs/delivery.md, table of outcomes', outcomes, firstCells('docs/delivery.md')],
  ['docs/statuses.md, table of states', states, firstCells('docs/statuses.md')],
  [
    'docs/statuses.md, texts of each state',
    [...statusTexts.keys()],
    read('docs/statuses.md')
      .split(/[|,]/)
      .map(part => part.trim()),
  ],
  [
    'docs/kafka.md, table of rights',
    roles,
    named(/^## Rights\n.*\n\n(\| topic .*)$/m.exec(read('docs/kafka.md'))![1]!),
  ],
  ['compose/prometheus.yml, services', roles, named(read('compose/prometheus.yml'))],
  ['helm/templates/prometheusrule.yaml, roles', roles, named(read('helm/templates/prometheusrule.yaml'))],
  [
    'src/telemetry/definitions.ts, action of doubts_total',
    Object.keys(doubtCauses).filter(cause => cause !== 'aborted'),
    named(metricDefinitions.doubts_total.action),
  ],
  [
    'docs/callbacks.md, table of answers',
    ['200', ...Object.values(refusals).map(({ status }) => String(status))],
    firstCells('docs/callbacks.md'),
  ],
  [
    'docs/embedding.md, flags of Node in the first line of bin/busgate.js',
    read('bin/busgate.js').split('\n')[0]!.match(/--\S+/g) ?? [],
    read('docs/embedding.md').match(/--[\w=-]+/g) ?? [],
  ],
  [
    'docs/assumptions.md and docs/delivery.md, HTTP statuses',
    [...Object.values(httpStatuses).flat(), ...Object.keys(queueCodes)].map(String),
    named(read('docs/assumptions.md') + read('docs/delivery.md')),
  ],
]

describe('a list that is repeated in several places', () => {
  test.each(places)('is complete in %s', (_place, words, known) => {
    expect(words.filter(word => !known.includes(word))).toEqual([])
  })

  test.each<[field: string, words: readonly string[], symbols: readonly string[]]>([
    ['outcome', [...outcomes, 'UNKNOWN'], outcome.symbols],
    ['state', states, state.symbols],
    ['delivery', ['DEFAULT', ...policies], delivery.symbols],
  ])('equals the enum of %s', (_field, words, symbols) => {
    expect(symbols.filter(symbol => !words.includes(symbol))).toEqual([])
  })

  test('contains every value that a dashboard or an alert selects', () => {
    const unknown = globSync(['helm/dashboards/*.json', 'helm/alerts/*.yaml']).flatMap(file =>
      selectedIn(read(file).replaceAll('\\"', '"')).filter(isUnknown),
    )
    expect(unknown).toEqual([])
  })
})

/** Each label value in a selector, as `metric label value`, without dashboard variables. */
function selectedIn(text: string): string[] {
  return [...text.matchAll(/busgate_(\w+)\{([^}]*)\}/g)].flatMap(([, name = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"([\w|]*)"/g)].flatMap(([, label, values = '']) =>
      values.split('|').map(value => `${name.replace(/_(bucket|sum|count)$/, '')} ${label} ${value}`),
    ),
  )
}

function isUnknown(selected: string): boolean {
  const [name = '', label = '', value = ''] = selected.split(' ')
  const values = Object.hasOwn(metricDefinitions, name) ? definitionOf(name as MetricName).labels[label] : undefined
  return Array.isArray(values) && ![...values, 'other', ''].includes(value)
}
