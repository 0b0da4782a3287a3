import { describe, expect, test } from 'vitest'
import { requestEnvelope } from '../../src/protocol/index.ts'
import { buildOperation } from '../support/operations.ts'
import { problems } from './problems.ts'

/** The lines of the specification's table Limits. */
describe('limit', () => {
  test('data length, every request: at least 1', () => {
    expect(requestEnvelope.safeParse({ auth: 'key', data: [buildOperation('balance')] }).success).toBe(true)
    const { error } = requestEnvelope.safeParse({ auth: 'key', data: [] })
    expect(error?.issues[0]?.message).toBe('data must be a list of at least one operation')
  })

  test('sms_lifetime, sms: 3600 to 259200 seconds', () => {
    for (const sms_lifetime of [3600, 172_800, 259_200, undefined])
      expect(problems('sms', { sms_lifetime })).toEqual([])
    for (const sms_lifetime of [3599, 259_201])
      expect(problems('sms', { sms_lifetime })).toEqual([
        'sms_lifetime must be a number of seconds from 3600 to 259200',
      ])
  })

  test.each(['rcs', 'rcs+sms', 'rcs+viber+sms'] as const)('rcs_lifetime, %s: minimum 60 seconds', type => {
    for (const rcs_lifetime of [60, 172_800, 10_000_000, undefined])
      expect(problems(type, { rcs_lifetime })).toEqual([])
    expect(problems(type, { rcs_lifetime: 59 })).toEqual(['rcs_lifetime must be a number of seconds, at least 60'])
  })

  test('telegram_lifetime, telegram: minimum 60 seconds', () => {
    for (const telegram_lifetime of [60, 172_800, 10_000_000, undefined])
      expect(problems('telegram', { telegram_lifetime })).toEqual([])
    expect(problems('telegram', { telegram_lifetime: 59 })).toEqual([
      'telegram_lifetime must be a number of seconds, at least 60',
    ])
  })

  test('message, telegram: 4 to 8 digits', () => {
    for (const message of ['0000', '12345678']) expect(problems('telegram', { message })).toEqual([])
    for (const message of ['123', '123456789', '1234\n', '12 34', '١٢٣٤', ''])
      expect(problems('telegram', { message })).toEqual(['message must be text of 4 to 8 digits'])
  })

  test.each(['viber', 'rcs+viber+sms', 'viber+sms'] as const)('viber_carousel, %s: 2 to 5 slides', type => {
    const carousel = (slides: number) =>
      problems(type, {
        viber_type: 'carousel',
        viber_carousel: Array.from({ length: slides }, () => ({ caption: 'A' })),
      })
    for (const slides of [2, 5]) expect(carousel(slides)).toEqual([])
    for (const slides of [0, 1, 6]) expect(carousel(slides)).toEqual(['viber_carousel must be a list of 2 to 5 slides'])
  })

  test('pipeline, pipeline: values may not repeat', () => {
    expect(problems('pipeline', { pipeline: ['sms', 'viber'] })).toEqual([])
    expect(problems('pipeline', { pipeline: ['sms', 'viber', 'sms'] })).toEqual([
      'pipeline must be a list of at least one of voice, telegram, viber, rcs, sms, whatsapp, none of them twice',
    ])
  })

  test('not limited here: maximum message length, operations per request, viber_lifetime', () => {
    expect(problems('sms', { sms_message: 'x'.repeat(100_000) })).toEqual([])
    expect(problems('viber', { viber_lifetime: 1 })).toEqual([])
    expect(problems('viber+sms', { viber_lifetime: 0.5 })).toEqual([])
    const data = Array.from({ length: 1000 }, () => buildOperation('balance'))
    expect(requestEnvelope.safeParse({ auth: 'key', data }).success).toBe(true)
  })
})
