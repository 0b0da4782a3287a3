import { expect, test } from 'vitest'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'

test('an error in a listener disturbs nothing, and is told as a fault', () => {
  const telemetry = new Telemetry()
  const faults: Events['fault.contained'][] = []
  telemetry.on('fault.contained', fault => void faults.push(fault))
  telemetry.on('fault.contained', () => {
    throw new Error('and this one, too')
  })
  telemetry.on('account.resumed', () => {
    throw new TypeError('the listener is wrong')
  })
  expect(() => telemetry.emit('account.resumed', { account: 'default' })).not.toThrow()
  expect(faults).toMatchObject([{ handling: 'telemetry', place: null, error: { name: 'TypeError' } }])
})
