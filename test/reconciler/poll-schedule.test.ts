import { describe, expect, it } from 'vitest'
import { type SendType, sendTypes } from '../../src/protocol/index.ts'
import { afterAnswer, type Schedule, scheduleOf } from '../../src/reconciler/poll-schedule.ts'
import { buildResult } from '../support/results.ts'

const minute = 60_000
const hour = 60 * minute
const expect15 = Object.fromEntries(sendTypes.map(type => [type, 15 * minute])) as Record<SendType, number>
const options = { expect: expect15, delayMs: 15 * minute, graceMs: hour }
const sentAt = 1_763_000_000_000
const smsSent = { ...buildResult({ sentAt }), type: 'sms' as const }

describe('a message without a verdict', () => {
  it('is polled at increasing intervals of at most six hours, and once more at the end of its lifetime', () => {
    let schedule: Schedule = scheduleOf(smsSent, {}, options)
    const waits: number[] = []
    while (schedule.pollAt < schedule.endsAt) {
      const now = schedule.pollAt
      schedule = afterAnswer(schedule, now, options)
      waits.push((schedule.pollAt - now) / minute)
    }
    expect(waits.slice(0, 6)).toEqual([15, 30, 60, 120, 240, 360])
    expect(Math.max(...waits)).toBe(360)
    expect(schedule.pollAt).toBe(schedule.endsAt)
  })

  it('starts a new schedule if its headers are invalid', () => {
    const headers = { 'busgate.ask-at': 'soon', 'busgate.asked': ['1', '2'], 'busgate.lifetime': '-5' }
    expect(scheduleOf(smsSent, headers, options)).toEqual(scheduleOf(smsSent, {}, options))
  })
})
