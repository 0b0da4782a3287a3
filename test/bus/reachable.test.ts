import { expect, test } from 'vitest'
import { BusUnavailable } from '../../src/bus/errors.ts'
import { reachable } from '../../src/bus/kafka/reachable.ts'

const named = (name: string, more: object = {}) => Object.assign(new Error('why'), { name, ...more })

test.each([
  ['a connection that is refused', named('KafkaJSConnectionError')],
  ['a series of them', named('KafkaJSNumberOfRetriesExceeded', { cause: named('KafkaJSConnectionError') })],
  ['a coordinator that is being looked for', named('KafkaJSGroupCoordinatorNotFound')],
  ['a partition without a leader', named('KafkaJSProtocolError', { type: 'LEADER_NOT_AVAILABLE' })],
])('%s is waited for at the start', async (_, error) => {
  await expect(reachable(Promise.reject(error))).rejects.toBeInstanceOf(BusUnavailable)
})

test.each([
  ['a password that is wrong', named('KafkaJSSASLAuthenticationError')],
  ['a right that is missing', named('KafkaJSProtocolError', { type: 'GROUP_AUTHORIZATION_FAILED' })],
])('%s is told as it is, for waiting does not help', async (_, error) => {
  await expect(reachable(Promise.reject(error))).rejects.toBe(error)
})
