import { parseSync } from 'rolldown/utils'

/** A small change of a file that makes it wrong, as a hasty hand would. */
export interface Mutant {
  file: string
  start: number
  end: number
  replacement: string
  /** Number of its first line. */
  at: number
  /** The changed lines before and after, as one line. */
  line: string
  becomes: string
}

interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

type Change = readonly [node: { start: number; end: number }, replacement: string]

/** Longest text of a mutant's lines. */
const longestLine = 160

const otherOperator: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
}

const otherMethod = new Map(Object.entries({ min: 'max', max: 'min', some: 'every', every: 'some' }))

/** Finds all mutants of a TypeScript file, in the order of its text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const { program, errors } = parseSync(file, text, { lang: 'ts' })
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]!.message}`)
  const changes: Change[] = []
  visit(program as unknown as Node, node => changes.push(...changesOf(node, text)))
  const mutants = changes.map(([{ start, end }, replacement]) => mutant(file, text, start, end, replacement))
  return mutants.filter(({ line, becomes }) => line !== becomes).sort((a, b) => a.start - b.start || a.end - b.end)
}

export const plant = (text: string, { start, end, replacement }: Mutant): string =>
  text.slice(0, start) + replacement + text.slice(end)

function mutant(file: string, text: string, start: number, end: number, replacement: string): Mutant {
  const from = text.lastIndexOf('\n', start - 1) + 1
  const next = text.indexOf('\n', end)
  const to = next < 0 ? text.length : next
  const line = oneLine(text.slice(from, to))
  const becomes = oneLine(text.slice(from, start) + replacement + text.slice(end, to))
  return { file, start, end, replacement, at: text.slice(0, start).split('\n').length, line, becomes }
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > longestLine ? `${line.slice(0, longestLine)}…` : line
}

/** Visits the nodes that run: no types, no imports. */
function visit(node: Node, each: (node: Node) => void): void {
  if (/^(TS(Interface|Type)|ImportDeclaration)/.test(node.type)) return
  each(node)
  for (const [key, value] of Object.entries(node)) {
    if (/^(typeAnnotation|returnType|typeParameters|typeArguments|superTypeArguments)$/.test(key)) continue
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, each)
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

function changesOf(node: Node, text: string): Change[] {
  const of = (part: unknown) => text.slice((part as Node).start, (part as Node).end)
  const changes: Record<string, () => Change[]> = {
    BinaryExpression: () => operatorChanges(node, text),
    LogicalExpression: () => [
      [node, of(node.left)],
      [node, of(node.right)],
    ],
    ConditionalExpression: () => [
      [node, of(node.consequent)],
      [node, of(node.alternate)],
    ],
    IfStatement: () => constantTests(node, ['true', 'false']),
    WhileStatement: () => constantTests(node, ['false']),
    ForStatement: () => constantTests(node, ['false']),
    UnaryExpression: () => (/[!-]/.test(String(node.operator)) ? [[node, of(node.argument)]] : []),
    ReturnStatement: () => (isResult(node.argument) ? [[node, 'return undefined as never']] : []),
    ArrowFunctionExpression: () => (isResult(node.body) ? [[node.body as Node, 'undefined as never']] : []),
    ExpressionStatement: () => statementChanges(node, text),
    Literal: () => literalChanges(node),
    CallExpression: () => swappedArguments(node, text),
    MemberExpression: () => {
      const property = node.property as Node
      const other = otherMethod.get(of(property))
      return other && !node.computed ? [[property, other]] : []
    },
  }
  return Object.hasOwn(changes, node.type) ? changes[node.type]!() : []
}

/** A missing `false` is as good as it, and the opposite of a boolean is a mutant already. `undefined` is no result. */
const isResult = (value: unknown): boolean =>
  isNode(value) && value.type !== 'BlockStatement' && typeof value.value !== 'boolean' && value.name !== 'undefined'

function operatorChanges(node: Node, text: string): Change[] {
  const [left, right] = [node.left as Node, node.right as Node]
  const other = otherOperator[String(node.operator)]
  const gap = text.slice(left.end, right.start)
  const at = left.end + gap.indexOf(String(node.operator))
  return other ? [[{ start: at, end: at + String(node.operator).length }, other]] : []
}

function constantTests(node: Node, values: readonly string[]): Change[] {
  return node.test ? values.map(value => [node.test as Node, value]) : []
}

/** Leaves a statement out, or does not wait for it. */
function statementChanges(node: Node, text: string): Change[] {
  const expression = node.expression as Node
  if (node.directive || text.startsWith('super(', node.start)) return []
  const left: Change = [node, ';']
  if (expression.type !== 'AwaitExpression') return [left]
  const awaited = expression.argument as Node
  return [left, [node, `void (${text.slice(awaited.start, awaited.end)})`]]
}

/** Larger numbers are sizes and limits, which nobody knows to the last one; to be without them is a fault. */
function literalChanges(node: Node): Change[] {
  if (typeof node.value === 'boolean') return [[node, String(!node.value)]]
  if (typeof node.value !== 'number') return []
  return [[node, String(node.value < 2 ? node.value + 1 : 0)]]
}

/** Functions that return the same for arguments in any order. */
const symmetric = /^(Math\.(min|max|imul)|timingSafeEqual)$/

function swappedArguments(node: Node, text: string): Change[] {
  const [first, second] = node.arguments as Node[]
  const callee = node.callee as Node
  if (symmetric.test(text.slice(callee.start, callee.end))) return []
  if (!first || !second || first.type === 'SpreadElement' || second.type === 'SpreadElement') return []
  const of = (part: Node) => text.slice(part.start, part.end)
  const between = text.slice(first.end, second.start)
  return [[{ start: first.start, end: second.end }, of(second) + between + of(first)]]
}
