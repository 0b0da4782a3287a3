import { expect, test } from 'vitest'
import { protocolError, reachable, Unanswered } from '../../src/bus/cluster/errors.ts'
import { BusUnavailable } from '../../src/bus/port.ts'

test.each([
  ['waits for a connection that is refused', new Unanswered('127.0.0.1:9092: connect ECONNREFUSED'), true],
  ['waits while the group has no coordinator', protocolError(15), true],
  ['waits for a partition without a leader', protocolError(5), true],
  ['fails at once on a wrong password', protocolError(58), false],
  ['fails at once on a missing right', protocolError(30), false],
])('the start %s', async (_, error, waits) => {
  const refused = await reachable(Promise.reject(error)).catch(told => told)
  if (waits) expect(refused).toBeInstanceOf(BusUnavailable)
  else expect(refused).toBe(error)
})
