import type { Plan, Shape } from './shape.ts'

/** The writer's type cannot be read as the reader's, by Avro's rules of schema resolution. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch'
  /** Fields and map keys that lead to it. */
  readonly path: string[] = []
  /** A field that is missing, or null. No version of busgate reads the record without it. */
  readonly lacks: 'field' | 'value' | null

  constructor(what: string, lacks: Mismatch['lacks'] = null) {
    super(what)
    this.lacks = lacks
  }

  /** Says where and what, without the record's content. */
  get complaint(): string {
    return `${this.path.join('.') || 'it'} ${this.message}`
  }
}

/** Calls the function. A mismatch in it gets the step in front of its path. */
export function within<T>(step: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof Mismatch) error.path.unshift(step)
    throw error
  }
}

/**
 * The reader's type, or the first branch of its union, that the writer's type can be read as. Not for a writer's union.
 * @throws Mismatch
 */
export function matchOf(written: Shape, wanted: Shape): Shape {
  if (written.matchedFor === wanted) return written.match!
  const match = (wanted.kind === 'union' ? wanted.parts : [wanted]).find(branch => fits(written, branch))
  if (match === undefined) throw new Mismatch(`is ${written.name}`, written.kind === 'null' ? 'value' : null)
  written.matchedFor = wanted
  written.match = match
  return match
}

/** Whether the writer's type can be read as the reader's, if neither is a union. Names are compared without their namespaces. */
export function fits(written: Shape, { kind, name, names, size }: Shape): boolean {
  switch (written.kind) {
    case 'int':
    case 'long':
      // an int or a long has another name than its kind if it is a time
      if (written.name !== written.kind && name !== kind && name !== written.name) return false
      return kind === 'long' || kind === 'bigint' || kind === 'float' || kind === 'double' || kind === written.kind
    case 'float':
      return kind === 'float' || kind === 'double'
    case 'string':
    case 'bytes':
      return kind === 'string' || kind === 'bytes'
    case 'fixed':
      return kind === 'fixed' && written.size === size && names.includes(written.names[0]!)
    case 'record':
    case 'enum':
      return kind === written.kind && names.includes(written.names[0]!)
    default:
      return kind === written.kind
  }
}

/** @throws Mismatch when the writer's record lacks a field that has no default */
export function planOf(written: Shape, wanted: Shape): Plan {
  written.plans ??= new Map()
  const plan = written.plans.get(wanted) ?? newPlan(written, wanted)
  written.plans.set(wanted, plan)
  return plan
}

function newPlan(written: Shape, wanted: Shape): Plan {
  const steps = written.fields.map(({ names }, i): Plan['steps'][number] => ({
    name: names[0]!,
    written: written.parts[i]!,
    wanted: null,
  }))
  const stepsByName = new Map(steps.map(step => [step.name, step]))
  const missing: Plan['missing'] = []
  wanted.fields.forEach(({ names, default: value }, i) => {
    const name = names[0]!
    const step = names.map(one => stepsByName.get(one)).find(one => one !== undefined)
    if (step) Object.assign(step, { name, wanted: wanted.parts[i]! })
    else if (value !== undefined) missing.push([name, value])
    else throw new Mismatch(`lacks the field ${name} of ${wanted.name}`, 'field')
  })
  return { blank: Object.fromEntries(wanted.fields.map(({ names }) => [names[0]!, undefined])), steps, missing }
}

/** @throws Mismatch unless every value of the writer's type can be read as the reader's */
export function requireReadable(written: Shape, wanted: Shape, known = new Map<Shape, Set<Shape>>()): void {
  if (written.kind === 'union') {
    for (const branch of written.parts) requireReadable(branch, wanted, known)
    return
  }
  const target = matchOf(written, wanted)
  const readable = known.get(written) ?? new Set()
  if (readable.has(target)) return
  known.set(written, readable.add(target))
  if (target.kind === 'record') {
    for (const step of planOf(written, target).steps) {
      const { wanted } = step
      if (wanted) within(step.name, () => requireReadable(step.written, wanted, known))
    }
  } else if (target.kind === 'enum') {
    for (const symbol of written.symbols) symbolFor(symbol, target)
  } else if (target.kind === 'array' || target.kind === 'map')
    requireReadable(written.parts[0]!, target.parts[0]!, known)
}

/** The reader's symbol for the writer's. @throws Mismatch */
export function symbolFor(symbol: string, { symbols, fallback }: Shape): string {
  if (symbols.includes(symbol)) return symbol
  if (fallback !== null) return fallback
  throw new Mismatch(`is ${symbol}`)
}
