import { describe, expect, test } from 'vitest'
import { stepMs, steps, Traffic } from '../../src/ui/traffic.ts'
import { samplesIn } from '../../src/ui/worker-pages.ts'

const countOf = (traffic: Traffic, kind: string) => traffic.counts(kind).reduce((sum, { count }) => sum + count, 0)

describe('what is counted', () => {
  test('is forgotten after ten minutes', () => {
    const traffic = new Traffic()
    traffic.add(['result', 'sms', 'SENT'], 5)
    for (let i = 1; i < steps; i++) traffic.step()
    traffic.add(['result', 'sms', 'SENT'], 2)
    expect(countOf(traffic, 'result')).toBe(7)
    traffic.step()
    expect(countOf(traffic, 'result')).toBe(2)
    for (let i = 0; i < steps; i++) traffic.step()
    expect(traffic.counts('result')).toEqual([])
  })

  test('has a rate over the last ten seconds, which ends with what came in them', () => {
    const traffic = new Traffic()
    traffic.add(['command', 'bulk', 'sms'], 100)
    traffic.add(['command', 'urgent', 'sms'], 1000)
    for (let i = 0; i < 5; i++) traffic.step()
    expect(traffic.perSecond('command', 'bulk')).toBe(100 / ((5 * stepMs) / 1000))
    traffic.step()
    expect(traffic.perSecond('command', 'bulk')).toBe(0)
  })

  test('of one name is not counted for another that begins like it', () => {
    const traffic = new Traffic()
    traffic.add(['command', 'bulk.otp', 'sms'], 100)
    traffic.step()
    expect(traffic.perSecond('command', 'bulk')).toBe(0)
  })

  test('over several steps is spread over them', () => {
    const traffic = new Traffic()
    for (let i = 0; i < 4; i++) traffic.step()
    traffic.add(['result', 'sms'], 9, 3)
    traffic.step()
    expect(traffic.line('result').map(point => (point! * stepMs) / 1000)).toEqual([0, 0, 3 / 3, 6 / 4, 9 / 5])
  })

  test('is not known where it could not be counted, and the line has a gap there', () => {
    const traffic = new Traffic()
    traffic.add(['result', 'sms'], 4)
    traffic.step()
    traffic.step(false)
    expect(traffic.perSecond('result')).toBeNull()
    traffic.step()
    expect(traffic.line('result')).toEqual([2, null, 1])
  })

  test('under more names than anybody reads is counted as other', () => {
    const traffic = new Traffic()
    for (let i = 0; i < 5000; i++) traffic.add(['verdict', `type-${i}`, 'DELIVERED'])
    expect(traffic.counts('verdict').length).toBeLessThan(1100)
    expect(countOf(traffic, 'verdict')).toBe(5000)
  })
})

test("samples are read from Prometheus' text format, with everything that a label may hold", () => {
  const text = [
    '# HELP busgate_x What it is.',
    '# TYPE busgate_x counter',
    'busgate_x{topic="a",note="say \\"hi\\", {x}\\\\n\\n"} 1.5e3 1700000000000',
    'busgate_x 7',
    'busgate_other 8',
    'busgate_x{topic="b"} NaN # {trace_id="abc"} 1',
    'nonsense',
  ].join('\n')
  expect(samplesIn(text, new Set(['busgate_x']))).toEqual([
    { name: 'busgate_x', labels: { topic: 'a', note: 'say "hi", {x}\\n\n' }, value: 1500 },
    { name: 'busgate_x', labels: {}, value: 7 },
    { name: 'busgate_x', labels: { topic: 'b' }, value: Number.NaN },
  ])
})
