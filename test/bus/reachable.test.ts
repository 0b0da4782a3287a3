import { expect, test } from 'vitest'
import { protocolError, reachable, Unanswered } from '../../src/bus/cluster/errors.ts'
import { BusUnavailable } from '../../src/bus/port.ts'

test.each([
  ['a connection that is refused', new Unanswered('127.0.0.1:9092: connect ECONNREFUSED')],
  ['a coordinator that is being looked for', protocolError(15)],
  ['a partition without a leader', protocolError(5)],
])('the start waits for %s', async (_, error) => {
  await expect(reachable(Promise.reject(error))).rejects.toBeInstanceOf(BusUnavailable)
})

test.each([
  ['a password that is wrong', protocolError(58)],
  ['a right that is missing', protocolError(30)],
])('the start fails at once on %s', async (_, error) => {
  await expect(reachable(Promise.reject(error))).rejects.toBe(error)
})
