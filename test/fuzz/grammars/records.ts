import { readCommand } from '../../../src/records/command.ts'
import { createDecoder, type DecodeCode, type Decoded } from '../../../src/records/decoder.ts'
import type { SendCommand } from '../../../src/records/generated.ts'
import { open } from '../../../src/records/open-sealed.ts'
import { type StoredSchema, selfContained } from '../../../src/records/schema-parts.ts'
import { schemas } from '../../../src/records/schemas.ts'
import { sealedIn } from '../../../src/records/sealed.ts'
import { decodeCodes } from '../../../src/telemetry/labels.ts'
import { recordOf } from '../../records/codec.ts'
import type { Random } from '../../simulation/random.ts'
import { BodyWriter, damaged } from '../avro/body.ts'
import { Evolution } from '../avro/evolve.ts'
import { type Answer, isSame, Oracle } from '../avro/oracle.ts'
import { type AvroType, type Json, type RecordType, schemaOf, typeOf, typesIn } from '../avro/type.ts'
import type { Grammar, Running } from '../grammar.ts'
import { bounded } from '../measure.ts'

/** What the published schemas lack: numbers of all kinds, defaults, aliases, enums, unions of several types, recursion. */
const kitchen = {
  type: 'record',
  name: 'Kitchen',
  namespace: 'io.busgate',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'i', type: 'int' },
    { name: 'l', type: 'long', default: 7 },
    { name: 'f', type: 'float' },
    { name: 'd', type: 'double', default: 1.5 },
    { name: 'bytes', type: 'bytes' },
    { name: 'text', type: 'string', aliases: ['oldText', 'valueOf'] },
    { name: 'flag', type: 'boolean', default: true },
    { name: 'fixed', type: ['null', { type: 'fixed', name: 'Four', size: 4 }], default: null },
    { name: 'colour', type: { type: 'enum', name: 'Colour', symbols: ['RED', 'GREEN'], default: 'GREEN' } },
    { name: 'form', type: { type: 'enum', name: 'Form', symbols: ['ROUND', 'FLAT'] }, default: 'FLAT' },
    { name: 'any', type: ['null', 'int', 'string', 'bytes'], default: null },
    { name: 'number', type: ['null', 'double'], default: null },
    { name: 'at', type: ['null', { type: 'long', logicalType: 'timestamp-millis' }], default: null },
    { name: 'list', type: { type: 'array', items: 'long' }, default: [] },
    { name: 'maps', type: { type: 'map', values: { type: 'array', items: ['null', 'string'] } }, default: {} },
    {
      name: 'choice',
      type: [
        'null',
        {
          type: 'record',
          name: 'A',
          aliases: ['OldA', 'toString'],
          fields: [
            { name: 'x', type: 'int' },
            { name: 'y', type: 'string', default: 'why', aliases: ['toString'] },
          ],
        },
        {
          type: 'record',
          name: 'B',
          fields: [
            { name: 'x', type: 'double' },
            { name: 'kids', type: { type: 'array', items: 'B' }, default: [] },
          ],
        },
      ],
      default: null,
    },
    { name: 'again', type: ['null', 'A'], default: null },
  ],
}

const readers = { ...schemas, kitchen }
const mostCommands = ['command', 'command', 'command', 'kitchen', 'kitchen', 'result', 'status', 'doubt'] as const

const codes: ReadonlySet<DecodeCode> = new Set(decodeCodes)

/** Bounds of busgate, and the units of times, which fastavro does not know. */
const ownRefusals =
  /more than \d+ (parts|values|references|bytes)|longer than \d+ bytes|deeper than \d+ levels| is (local-)?time(stamp)?-\w+\.| is date\./

/** Python takes a second for longer ones. */
const longestCompared = 20_000
const notAsked: Answer = ['no', 'not asked']

export const records: Grammar = {
  about: 'records of evolved and hostile schemas, read as fastavro reads them',
  start: () => new Records(),
}

interface Case {
  reader: keyof typeof readers
  /** As another implementation needs it: names, types, symbols and sizes. */
  plain: Json
  stored: StoredSchema
  references: Map<string, StoredSchema>
  valid: Buffer[]
  damaged: Buffer[]
}

class Records implements Running {
  readonly #oracle = new Oracle()
  readonly #figures = {
    schemas: 0,
    bodies: 0,
    same: 0,
    'only ours': 0,
    'only fastavro, damaged': 0,
    'only fastavro, valid': 0,
  }

  figures = () => this.#figures

  stop(): void {
    this.#oracle.stop()
  }

  async run(random: Random): Promise<void> {
    const one = caseOf(random)
    const decoder = await bounded('reading the schema', async () => {
      const made = createDecoder<SendCommand>(readers[one.reader], {
        schemaOf: () => selfContained(one.stored, async ({ subject }) => one.references.get(subject)!),
        idOf: async () => 1,
      })
      await made.prepare(1)
      return made
    })
    const bodies = [...one.valid, ...one.damaged]
    const short = bodies.filter(body => body.length <= longestCompared)
    const told = await this.#oracle.read(one.plain, one.reader, readers[one.reader], short)
    const answers = new Map(short.map((body, i) => [body, told[i]!]))
    this.#figures.schemas++
    for (const [i, body] of bodies.entries()) {
      const what = `body ${i} (${one.reader}, ${i < one.valid.length ? 'valid' : 'damaged'})`
      const decoded = await bounded(`reading ${what}`, () => decoder.decode(recordOf(1, body)))
      this.#judge(what, decoded, answers.get(body) ?? notAsked, i < one.valid.length)
      if (decoded.ok && one.reader === 'command') {
        const options = { hookFor: () => null, voiceHook: true, allowEmpty: random.chance(0.5) }
        const sealed = sealedIn(decoded.value)
        if (sealed) await bounded(`opening ${what}`, () => open(decoded.value, sealed, () => undefined))
        else await bounded(`validating ${what}`, () => readCommand(decoded.value, options, null, decoded.flaw))
      }
    }
  }

  #judge(what: string, decoded: Decoded<unknown>, [verdict, told]: Answer, isValid: boolean): void {
    const figures = this.#figures
    figures.bodies++
    if ('pending' in decoded) throw new Error(`${what} is still pending`)
    if (!decoded.ok) {
      const { code, message } = decoded.error
      if (!codes.has(code) || message.length > 600) throw new Error(`${what} has the error ${code}: ${message}`)
      if (verdict === 'no') return
      if (!isValid) figures['only fastavro, damaged']++
      else if (ownRefusals.test(message)) figures['only fastavro, valid']++
      else throw new Error(`${what} is refused: ${message} fastavro reads ${JSON.stringify(told).slice(0, 500)}`)
    } else if (verdict === 'no') figures['only ours']++
    else if (decoded.flaw === undefined) {
      if (isSame(decoded.value, told)) figures.same++
      else
        throw new Error(
          `${what} is read as ${shown(decoded.value)}, by fastavro as ${JSON.stringify(told).slice(0, 2000)}`,
        )
    }
  }
}

const shown = (value: unknown) =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part)).slice(0, 2000)

/** Fields of `kitchen` with their aliases. */
const namesakes = [
  ['y', 'toString'],
  ['text', 'oldText', 'valueOf'],
]

/** Keeps one of the fields that the reader takes for the same: the specification does not say which one counts. */
function dropAmbiguous(record: RecordType): void {
  for (const names of namesakes) {
    const first = record.fields.find(({ name }) => names.includes(name))
    record.fields = record.fields.filter(field => field === first || !names.includes(field.name))
  }
}

function caseOf(random: Random): Case {
  const reader = random.pick(mostCommands)
  let type = typeOf(readers[reader])
  new Evolution(random, type).evolve()
  for (const record of typesIn(type)) if (record.kind === 'record') dropAmbiguous(record)
  if (random.chance(0.1)) type = { kind: 'union', branches: [{ kind: 'null' }, type] }
  const plain = schemaOf(type)
  const { root, references } = split(random, schemaOf(type, decoration(random)))
  const bodies = [BodyWriter.bodyOf(random, type), BodyWriter.bodyOf(random, type)]
  const valid = bodies.filter(({ isWhole }) => isWhole).map(({ bytes }) => bytes)
  const cut = bodies.filter(({ isWhole }) => !isWhole).map(({ bytes }) => Buffer.concat([bytes, Buffer.alloc(50)]))
  const broken = [...valid, ...valid, ...cut, Buffer.alloc(0)].map(body => damaged(random, body))
  return { reader, plain, stored: root, references, valid, damaged: [...cut, ...broken] }
}

const logicalTypes = [
  ...[
    'decimal',
    'uuid',
    'duration',
    'date',
    'time-millis',
    'timestamp-millis',
    'timestamp-micros',
    'local-timestamp-nanos',
  ],
  ...['big-decimal', 'toString', '__proto__', 7, null, ['timestamp-micros']],
]

/** Adds what does not change the bytes: documentation, defaults, aliases, logical types, well-formed or not. */
function decoration(random: Random): (schema: Json, type: AvroType) => Json {
  const junk = [null, 0, -1, 'x', [], {}, [[]], { type: 'record' }, 'toString', JSON.parse('{"__proto__":1}'), ['a', 7]]
  const share = random.pick([0, 0, 0.05, 0.3])
  return (schema, type) => {
    if (!random.chance(share) || type.kind === 'union') return schema
    const made: Json = typeof schema === 'string' ? { type: schema } : schema
    const logical = { logicalType: random.pick(logicalTypes), precision: random.pick(junk), scale: random.pick(junk) }
    const more: Json[] = [
      logical,
      { doc: 'x'.repeat(random.int(0, 300)) },
      { order: random.pick(junk) },
      { default: random.pick(junk) },
    ]
    if (type.kind !== 'enum') more.push({ symbols: random.pick(junk), aliases: random.pick(junk) })
    Object.assign(made, random.pick(more))
    for (const field of made.fields ?? []) {
      if (random.chance(0.2)) Object.assign(field, { default: random.pick(junk), aliases: random.pick(junk), doc: '' })
    }
    return made
  }
}

/** Moves some of the named types into subjects of their own, as Confluent's registry refers to them. */
function split(random: Random, schema: Json): { root: StoredSchema; references: Map<string, StoredSchema> } {
  const references = new Map<string, StoredSchema>()
  const share = random.pick([0, 0, 0.3, 1])
  const asText = (part: Json): StoredSchema => {
    const own: NonNullable<StoredSchema['references']> = []
    const visit = (one: Json, isRoot = false): Json => {
      if (Array.isArray(one)) return one.map(branch => visit(branch))
      if (typeof one !== 'object' || one === null) return one
      const name = one.namespace ? `${one.namespace}.${one.name}` : one.name
      if (!isRoot && typeof one.name === 'string' && one.namespace && random.chance(share)) {
        references.set(name, asText(one))
        own.push({ name, subject: name, version: 1 })
        return name
      }
      const copy = { ...one }
      for (const key of ['items', 'values']) if (key in one && one.type !== 'record') copy[key] = visit(one[key])
      if (one.type === 'record') copy.fields = one.fields.map((field: Json) => ({ ...field, type: visit(field.type) }))
      return copy
    }
    return { schema: JSON.stringify(visit(part, true)), ...(own.length > 0 && { references: own }) }
  }
  const root = asText(schema)
  const all = [...references.keys()].map(name => ({ name, subject: name, version: 1 }))
  return { root: all.length > 0 && random.chance(0.5) ? { ...root, references: all } : root, references }
}
