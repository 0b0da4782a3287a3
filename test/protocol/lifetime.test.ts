import { describe, expect, it } from 'vitest'
import { lifetimeOf, type SendType, usualLifetime } from '../../src/protocol/index.ts'

const day = 86_400

describe('the lifetime of a message', () => {
  it.each<[SendType, Record<string, unknown>, number]>([
    ['sms', {}, 2 * day],
    ['sms', { sms_lifetime: 3600 }, 3600],
    ['viber', { viber_lifetime: 60 }, 60],
    ['viber+sms', { viber_lifetime: 60 }, 60 + 2 * day],
    ['rcs+viber+sms', { rcs_lifetime: 100, viber_lifetime: 60, sms_lifetime: 3600 }, 3760],
    ['telegram', { telegram_lifetime: 90 }, 90],
    ['voice', {}, 2 * day],
    ['pipeline', { pipeline: ['telegram', 'sms'], telegram: { lifetime: 60 }, sms: {} }, 60 + 2 * day],
  ])('of %s with %j is %i seconds, the sum of its channels', (type, fields, seconds) => {
    expect(lifetimeOf(type, { type, ...fields }) ?? usualLifetime(type)).toBe(seconds)
  })

  it('is the default if the message has an invalid one', () => {
    expect(lifetimeOf('sms', { sms_lifetime: -1 })).toBe(2 * day)
    expect(lifetimeOf('sms', { sms_lifetime: '60' })).toBe(2 * day)
    expect(lifetimeOf('pipeline', { pipeline: ['sms'], sms: null })).toBe(2 * day)
  })
})
