import type { LevelWithSilent } from 'pino'
import { describe, expect, it } from 'vitest'
import { Telemetry } from '../../src/telemetry/events.ts'
import { createLogger, logEvents } from '../../src/telemetry/logs.ts'

function logging(level: LevelWithSilent = 'debug') {
  const lines: Record<string, unknown>[] = []
  const telemetry = new Telemetry()
  logEvents(telemetry, createLogger(level, { write: line => lines.push(JSON.parse(line)) }))
  return { telemetry, lines }
}

const session = { topic: 'busgate.commands', partition: 3 }

describe('the log', () => {
  it('has one line an event, with its name, its level as text and an ISO time', () => {
    const { telemetry, lines } = logging()
    telemetry.emit('session.opened', { ...session, offset: 12, inDoubt: 2, stale: false, took: 0.4 })
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        event: 'session.opened',
        ...session,
        offset: 12,
        inDoubt: 2,
        stale: false,
        took: 0.4,
      },
    ])
  })

  it('leaves busy events to the metrics', () => {
    const { telemetry, lines } = logging('trace')
    telemetry.emit('cycle.committed', { ...session, records: 100, windowUsed: 0.1 })
    telemetry.emit('commands.consumed', { topic: 'busgate.commands', count: 100 })
    expect(lines).toEqual([])
  })

  it('shows at info what an operator acts on, and not each envelope', () => {
    const { telemetry, lines } = logging('info')
    telemetry.emit('envelope.finished', { account: 'default', outcome: 'answered', operations: 100, seconds: 0.02 })
    telemetry.emit('account.paused', { account: 'default', reason: 'denied', retryInMs: 1000, error: 'Access denied' })
    telemetry.emit('account.resumed', { account: 'default' })
    telemetry.emit('log.cut', { topic: 'busgate.commands', partition: 1, lost: 5 })
    expect(lines.map(({ level, event }) => [level, event])).toEqual([
      ['warn', 'account.paused'],
      ['info', 'account.resumed'],
      ['error', 'log.cut'],
    ])
  })

  it('gives a message of the bus its own level', () => {
    const { telemetry, lines } = logging('warn')
    telemetry.emit('bus.log', { level: 'info', message: 'joined' })
    telemetry.emit('bus.log', { level: 'error', message: 'broker gone' })
    expect(lines).toMatchObject([{ level: 'error', event: 'bus.log', message: 'broker gone' }])
  })

  it('names an error by its name and code, with at most 300 characters of its message and no stack', () => {
    const { telemetry, lines } = logging()
    const cause = Object.assign(new Error('epoch'), { type: 'INVALID_PRODUCER_EPOCH' })
    telemetry.emit('session.lost', { ...session, stage: 'commit', error: new TypeError('x'.repeat(1000), { cause }) })
    expect(lines[0]?.error).toEqual({
      name: 'TypeError',
      code: 'INVALID_PRODUCER_EPOCH',
      message: `${'x'.repeat(300)}…`,
    })
  })

  it('holds no phone number and no quoted body of an error', () => {
    const { telemetry, lines } = logging()
    const quoting = errorOf(() => JSON.parse('{"text": Ваш код 4711'))
    telemetry.emit('session.openFailed', { ...session, error: new Error('cannot send to 380501234567') })
    telemetry.emit('session.openFailed', { ...session, error: quoting })
    telemetry.emit('bus.log', { level: 'warn', message: 'key 380501234567' })
    const text = JSON.stringify(lines)
    expect(lines).toHaveLength(3)
    expect(text).not.toContain('380501234567')
    expect(text).not.toContain('код')
  })

  it('is not held up by a text that quotes and quotes', () => {
    const { telemetry, lines } = logging()
    const error = 'Unexpected token '.repeat(250_000)
    telemetry.emit('account.paused', { account: 'default', reason: 'refused', retryInMs: 1000, error })
    expect(lines).toMatchObject([{ error: 'not valid JSON' }])
  })

  it('is silent when told so', () => {
    const { telemetry, lines } = logging('silent')
    telemetry.emit('log.cut', { topic: 'busgate.commands', partition: 1, lost: 5 })
    expect(lines).toEqual([])
  })
})

function errorOf(action: () => unknown): Error {
  try {
    action()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}
