import type { Random } from '../../simulation/random.ts'
import {
  type AvroType,
  type Field,
  isNamed,
  type NamedType,
  primitives,
  type RecordType,
  repair,
  typesIn,
} from './type.ts'

/** Names that mean something to JavaScript, to Avro libraries or to busgate. */
const hostileNames = [
  ...Object.getOwnPropertyNames(Object.prototype),
  ...Object.getOwnPropertyNames(Function.prototype),
  ...[
    'then',
    'toJSON',
    'prototype',
    'eval',
    'class',
    'this',
    'new',
    'return',
    'null',
    'undefined',
    'NaN',
    'await',
    'record',
  ],
  ...[
    '_',
    '__',
    'type',
    'fields',
    'size',
    'id',
    'phone',
    'message',
    'account',
    'extra',
    'hook',
    'delivery',
    'tenant',
    'note',
  ],
].filter(name => /^[A-Za-z_]\w*$/.test(name))

/** Of the schema in grammars/records.ts. */
const aliases = ['oldText', 'toString', 'valueOf']

const namespaces = ['', 'com.shop', 'io.busgate', 'a.b.toString', '__proto__.constructor']

/** Changes a type in place, as another version, team or attacker might. */
export class Evolution {
  readonly #random: Random
  readonly #root: AvroType

  constructor(random: Random, root: AvroType) {
    this.#random = random
    this.#root = root
  }

  evolve(): void {
    const random = this.#random
    for (let left = random.pick([0, 1, 1, 1, 2, 2, 3, 5, 8]); left > 0; left--) random.pick(this.#changes)()
    repair(this.#root)
  }

  /** Each is as likely as it is listed. */
  readonly #changes: (() => void)[] = [
    ...Array<() => void>(4).fill(() => this.#addField(this.#type(0))),
    ...Array<() => void>(2).fill(() => this.#change(field => this.#convert(field, widened))),
    ...Array<() => void>(2).fill(() => this.#change(field => this.#convert(field, narrowed))),
    () => this.#withRecord(record => record.fields.splice(this.#place(record.fields), 1)),
    () => this.#withRecord(record => this.#shuffle(record.fields)),
    () => this.#change(field => this.#makeNullable(field)),
    () => this.#change(field => this.#makeRequired(field)),
    () => this.#change(field => this.#addBranch(field)),
    () => this.#change(field => void (field.type.kind === 'union' && this.#shuffle(field.type.branches))),
    () => this.#change(field => this.#dropBranches(field)),
    () => this.#change((field, { fields }) => this.#rename(field, fields)),
    () => this.#change(field => Object.assign(field, { type: this.#type(0) })),
    () => this.#addField(this.#deep()),
    () => this.#addField(this.#bomb()),
    () => this.#withRecord(record => this.#widen(record)),
    () => this.#renameType(),
    () => this.#changeSymbols(),
  ]

  #records(): RecordType[] {
    return typesIn(this.#root).filter(type => type.kind === 'record')
  }

  #withRecord(change: (record: RecordType) => unknown): void {
    const records = this.#records()
    const record = this.#random.chance(0.4) && this.#root.kind === 'record' ? this.#root : this.#random.pick(records)
    if (record) change(record)
  }

  #change(change: (field: Field, record: RecordType) => unknown): void {
    this.#withRecord(record => record.fields.length > 0 && change(this.#random.pick(record.fields), record))
  }

  #addField(type: AvroType): void {
    this.#withRecord(({ fields }) => {
      const field = { name: '', type }
      this.#rename(field, fields)
      if (field.name !== '') fields.splice(this.#random.int(0, fields.length), 0, field)
    })
  }

  #rename(field: Field, fields: Field[]): void {
    const name = this.#random.chance(0.2) ? this.#random.pick(aliases) : this.#random.pick(hostileNames)
    if (!fields.some(other => other.name === name)) field.name = name
  }

  #place = (list: unknown[]) => this.#random.int(0, Math.max(list.length - 1, 0))

  #shuffle(list: unknown[]): void {
    for (let i = list.length - 1; i > 0; i--) {
      const other = this.#random.int(0, i)
      ;[list[i], list[other]] = [list[other], list[i]]
    }
  }

  #convert(field: Field, to: Record<string, readonly string[]>): void {
    const convert = (type: AvroType): AvroType => {
      const kinds = Object.hasOwn(to, type.kind) ? to[type.kind]! : []
      return kinds.length > 0 ? ({ kind: this.#random.pick(kinds) } as AvroType) : type
    }
    field.type = field.type.kind === 'union' ? union(field.type.branches.map(convert)) : convert(field.type)
  }

  #makeNullable(field: Field): void {
    if (field.type.kind !== 'union')
      field.type = union(this.#random.chance(0.5) ? [nothing, field.type] : [field.type, nothing])
    else if (!field.type.branches.includes(nothing)) field.type = union([nothing, ...field.type.branches])
  }

  #makeRequired(field: Field): void {
    if (field.type.kind === 'union') field.type = field.type.branches.find(({ kind }) => kind !== 'null') ?? nothing
  }

  #addBranch(field: Field): void {
    const known = field.type.kind === 'union' ? field.type.branches : [field.type]
    const more = this.#type(1)
    field.type = union(this.#random.chance(0.5) ? [...known, more] : [more, ...known])
  }

  #dropBranches({ type }: Field): void {
    if (type.kind === 'union') type.branches = type.branches.filter(() => this.#random.chance(0.7))
  }

  #renameType(): void {
    const type = this.#random.pick(typesIn(this.#root).filter(isNamed))
    if (!type) return
    if (this.#random.chance(0.5)) type.name = this.#random.pick(hostileNames)
    else type.namespace = this.#random.pick(namespaces)
  }

  #changeSymbols(): void {
    const type = this.#random.pick(typesIn(this.#root).filter(one => one.kind === 'enum'))
    if (!type) return
    if (this.#random.chance(0.5)) type.symbols = [...new Set([...type.symbols, this.#random.pick(hostileNames)])]
    else this.#shuffle(type.symbols)
  }

  #named(): NamedType | undefined {
    return this.#random.pick(typesIn(this.#root).filter(isNamed))
  }

  #type(level: number): AvroType {
    const random = this.#random
    const more = () => this.#type(level + 1)
    const name = { name: random.pick(hostileNames), namespace: random.pick(namespaces) }
    switch (random.int(0, level > 3 ? 8 : 16)) {
      case 8:
        return this.#named() ?? nothing
      case 9:
      case 10:
        return { kind: 'array', of: more() }
      case 11:
      case 12:
        return { kind: 'map', of: more() }
      case 13:
        return union(Array.from({ length: random.int(1, 5) }, more))
      case 14: {
        const record: RecordType = { kind: 'record', ...name, fields: [] }
        for (let left = random.int(0, 4); left > 0; left--) {
          const field = { name: '', type: random.chance(0.15) ? union([nothing, record]) : more() }
          this.#rename(field, record.fields)
          if (field.name !== '') record.fields.push(field)
        }
        return record
      }
      case 15:
        return { kind: 'fixed', ...name, size: random.pick([0, 1, 4, 12, 2 ** 31, 2 ** 53 - 1]) }
      case 16:
        return {
          kind: 'enum',
          ...name,
          symbols: [...new Set(Array.from({ length: 3 }, () => random.pick(hostileNames)))],
        }
      default:
        return { kind: random.pick(primitives) }
    }
  }

  /** Nested types, near the limit of levels or far beyond. */
  #deep(): AvroType {
    const random = this.#random
    let type: AvroType = { kind: random.pick(primitives) }
    const how = random.int(0, 3)
    for (let level = random.pick([10, 28, 60, 70, 600]); level > 0; level--) {
      if (how === 0) type = { kind: 'array', of: type }
      else if (how === 1) type = { kind: 'map', of: union([nothing, type]) }
      else {
        const fields: Field[] = [{ name: random.pick(hostileNames), type }]
        // each twice the size of the one before
        if (how === 3) fields.push({ name: 'again', type })
        type = { kind: 'record', name: `Deep${level}`, namespace: '', fields }
      }
    }
    return type
  }

  /** A few bytes have any number of values. */
  #bomb(): AvroType {
    const random = this.#random
    const empty: RecordType = { kind: 'record', name: 'Empty', namespace: '', fields: [] }
    const self: RecordType = { kind: 'record', name: 'Self', namespace: '', fields: [] }
    self.fields.push({ name: 'toString', type: self })
    let doubled: AvroType = nothing
    for (let level = 0; level < 40; level++) {
      const fields: Field[] = ['a', 'b'].map(name => ({ name, type: doubled }))
      doubled = { kind: 'record', name: `Double${level}`, namespace: '', fields }
    }
    return random.pick<AvroType>([{ kind: 'array', of: nothing }, { kind: 'array', of: empty }, doubled, self])
  }

  #widen({ fields }: RecordType): void {
    const random = this.#random
    const type = random.chance(0.5) ? this.#type(2) : nothing
    for (let left = random.pick([30, 300, 2_400, 6_000]); left > 0; left--) fields.push({ name: `wide${left}`, type })
  }
}

const nothing: AvroType = { kind: 'null' }
const union = (branches: AvroType[]): AvroType => ({ kind: 'union', branches })

const widened = {
  int: ['long', 'float', 'double'],
  long: ['float', 'double'],
  float: ['double'],
  string: ['bytes'],
  bytes: ['string'],
}
const narrowed = {
  long: ['int'],
  double: ['float', 'int', 'long'],
  float: ['int'],
  string: ['bytes'],
  boolean: ['int'],
}
