import { expect, test } from 'vitest'
import { memoized } from '../src/memoized.ts'

test('a memoized value is computed once for each key, and again after an error', () => {
  const computed: string[] = []
  const lengthOf = memoized((text: string) => {
    computed.push(text)
    if (computed.length === 1) throw new Error('not yet')
    return text.length
  })
  expect(() => lengthOf('')).toThrow('not yet')
  expect(['', 'a', '', 'bc', 'a'].map(lengthOf)).toEqual([0, 1, 0, 2, 1])
  expect(computed).toEqual(['', '', 'a', 'bc'])
})
