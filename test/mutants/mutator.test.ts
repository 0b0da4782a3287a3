import { expect, test } from 'vitest'
import { mutantsOf, plant } from './mutator.ts'

const becoming = (text: string) => mutantsOf('a.ts', text).map(({ becomes }) => becomes)

test.each([
  ['an operator is exchanged', 'a < b', 'a <= b'],
  ['an operand is left out', 'a || b', 'a'],
  ['a branch is always taken', 'if (a) b()', 'if (true) b()'],
  ['a statement is left out', 'f(x)', ';'],
  ['a statement is not waited for', 'await f()', 'void (f())'],
  ['a number is off by one', 'const a = 1', 'const a = 2'],
  ['a limit is gone', 'const ms = 60_000', 'const ms = 0'],
  ['a size is gone', 'const size = 2', 'const size = 0'],
  ['arguments are swapped', 'const a = f(b, c)', 'const a = f(c, b)'],
  ['a result is missing', 'function f() { return a }', 'function f() { return undefined as never }'],
  ['the least is the most', 'const a = Math.min(b)', 'const a = Math.max(b)'],
])('a mutant: %s', (_, text, mutant) => {
  expect(becoming(text)).toContain(mutant)
})

test('arguments of which the order does not matter are not swapped', () => {
  expect(becoming('const a = Math.min(b, c)')).toEqual(['const a = Math.max(b, c)'])
})

test('a boolean result becomes its opposite, and is not left out, since nothing is as good as false', () => {
  expect(becoming('function f() { return false }')).toEqual(['function f() { return true }'])
})

test('a result that is undefined is not left out', () => {
  expect(becoming('function f() { return undefined }\nconst a = () => undefined')).toEqual([])
})

test('only methods that have an opposite are exchanged', () => {
  expect(becoming('const a = b.toString()')).toEqual([])
})

test('types and imports have no mutants', () => {
  expect(becoming("import { a } from 'b'\ninterface A { a: 1 | 2 }\ntype B = 3")).toEqual([])
})

test('a mutant changes its place alone', () => {
  const text = 'const a = 1\nconst b = 0\n'
  const planted = mutantsOf('a.ts', text).map(mutant => plant(text, mutant))
  expect(planted).toEqual(['const a = 2\nconst b = 0\n', 'const a = 1\nconst b = 1\n'])
})
