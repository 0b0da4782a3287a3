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
  const life = 20 * minute
  const lasting = (seconds: number) => ({ 'busgate.lifetime': String(seconds) })

  it.each([
    ['15 minutes after it was sent', {}, lasting(1_200), 15 * minute, life],
    ['at the end of a shorter lifetime', {}, lasting(60), minute, minute],
    [
      'counted from its result, if nobody knows when it was sent',
      { sentAt: null },
      lasting(60),
      2 * minute,
      2 * minute,
    ],
    ['as an earlier poll has planned', {}, { ...lasting(1_200), 'busgate.ask-at': String(sentAt + 5) }, 5, life],
  ])('is polled for first %s, and given up an hour after its lifetime', (_, result, headers, pollIn, endsIn) => {
    const message = { ...smsSent, completedAt: sentAt + minute, ...result }
    const schedule = scheduleOf(message, headers, options)
    expect([schedule.pollAt - sentAt, schedule.endsAt - sentAt, schedule.answers]).toEqual([pollIn, endsIn + hour, 0])
  })

  it('that was polled for goes on counting its answers', () => {
    const headers = { 'busgate.ask-at': String(sentAt + 5), 'busgate.asked': '3' }
    expect(scheduleOf(smsSent, headers, options)).toMatchObject({ pollAt: sentAt + 5, answers: 3 })
  })

  it('is polled for at once if its end has passed meanwhile, and never more often than the reconciler walks', () => {
    const late = { pollAt: sentAt, answers: 4, endsAt: sentAt + hour }
    expect(afterAnswer(late, sentAt + 2 * hour, options)).toEqual({ ...late, pollAt: sentAt + 2 * hour, answers: 5 })
    const far = { ...late, endsAt: sentAt + 100 * hour }
    expect(afterAnswer(far, sentAt, { ...options, delayMs: 8 * hour }).pollAt).toBe(sentAt + 8 * hour)
  })

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
