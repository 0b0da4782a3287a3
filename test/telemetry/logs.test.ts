import type { LevelWithSilent } from 'pino'
import { describe, expect, it } from 'vitest'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { logLines } from '../../src/telemetry/log-lines.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { logEvents } from '../../src/telemetry/logs.ts'
import { buildEvents } from '../support/events.ts'

function logging(level: LevelWithSilent = 'debug') {
  const lines: Record<string, unknown>[] = []
  const telemetry = new Telemetry()
  logEvents(telemetry, createLogger(level, { write: line => lines.push(JSON.parse(line)) }))
  return { telemetry, lines }
}

const session = { topic: 'busgate.commands', partition: 3 }

describe('the log', () => {
  it('has one line for each event, with its name, a level as text, an ISO time and a sentence', () => {
    const { telemetry, lines } = logging()
    telemetry.emit('session.opened', { ...session, offset: 4, committed: 12, inDoubt: 2, stale: false, took: 0.4 })
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        event: 'session.opened',
        ...session,
        offset: 4,
        committed: 12,
        inDoubt: 2,
        stale: false,
        took: 0.4,
        msg: 'owns busgate.commands/3@12, reading from offset 4 to find repeated ids, with 2 commands that another owner may have sent',
      },
    ])
  })

  it('goes to any logger with the methods of pino', () => {
    const told: unknown[] = []
    const to = (level: string) => (fields: object, msg: string) => void told.push([level, fields, msg])
    const logger = {
      ...{ fatal: to('fatal'), error: to('error'), warn: to('warn') },
      ...{ info: to('info'), debug: to('debug'), trace: to('trace') },
    }
    const telemetry = new Telemetry()
    logEvents(telemetry, logger)
    telemetry.emit('account.resumed', { account: 'bank' })
    const line = ['info', { event: 'account.resumed', account: 'bank' }, 'account bank resumes sending']
    expect(told).toEqual([line])
  })

  it('omits frequent events, which metrics show', () => {
    const { telemetry, lines } = logging('trace')
    telemetry.emit('cycle.committed', { ...session, records: 100, windowUsed: 0.1 })
    telemetry.emit('commands.consumed', { topic: 'busgate.commands', count: 100 })
    expect(lines).toEqual([])
  })

  it('shows at info what matters to an operator, but not each envelope', () => {
    const { telemetry, lines } = logging('info')
    telemetry.emit('envelope.finished', { account: 'default', outcome: 'answered', operations: 100, seconds: 0.02 })
    telemetry.emit('account.paused', buildEvents(1)['account.paused'])
    telemetry.emit('account.resumed', { account: 'default' })
    telemetry.emit('log.cut', buildEvents(1)['log.cut'])
    expect(lines.map(({ level, event }) => [level, event])).toEqual([
      ['warn', 'account.paused'],
      ['info', 'account.resumed'],
      ['error', 'log.cut'],
    ])
  })

  it("logs a message of the bus at the message's level", () => {
    const { telemetry, lines } = logging('warn')
    telemetry.emit('bus.log', { level: 'info', message: 'joined' })
    telemetry.emit('bus.log', { level: 'error', message: 'broker gone' })
    expect(lines).toMatchObject([{ level: 'error', event: 'bus.log', msg: 'broker gone' }])
  })

  it('says which record became the first of several dead letters', () => {
    const { telemetry, lines } = logging('info')
    const letters = { stage: 'decode', code: 'TRUNCATED', first: { ...session, offset: 1_234_567_890 } } as const
    telemetry.emit('deadLetter.published', { ...letters, count: 1 })
    telemetry.emit('deadLetter.published', { ...letters, count: 40 })
    expect(lines.map(({ msg }) => msg)).toEqual([
      'busgate.commands/3@1234567890 became a dead letter: TRUNCATED',
      '40 records became dead letters, the first busgate.commands/3@1234567890: TRUNCATED',
    ])
  })

  it('rounds numbers, and milliseconds to whole ones', () => {
    const { telemetry, lines } = logging()
    telemetry.emit('session.opened', {
      ...session,
      offset: 1,
      committed: 1,
      inDoubt: 0,
      stale: false,
      took: 0.123456789,
    })
    telemetry.emit('account.paused', { ...buildEvents(1)['account.paused'], retryInMs: 1234.5678 })
    telemetry.emit('balance.read', { account: 'a', currency: 'UAH', amount: 31_168.35 })
    expect(lines).toMatchObject([{ took: 0.123 }, { retryInMs: 1235, msg: expect.stringContaining('in 1.235 s') }, {}])
    expect(lines[2]).toMatchObject({ amount: 31_168.35, msg: 'account a has 31168.35 UAH' })
  })

  it('says what to do in every warning and error, and only there', () => {
    for (const [name, line] of Object.entries(logLines)) {
      if (line === null || line.level === 'debug') continue
      expect([name, line.action !== undefined]).toEqual([name, line.level !== 'info'])
    }
  })

  it('shows the name and code of an error, at most 500 characters of its message, and no stack', () => {
    const { telemetry, lines } = logging()
    const cause = Object.assign(new Error('epoch'), { type: 'INVALID_PRODUCER_EPOCH' })
    telemetry.emit('session.lost', { ...session, stage: 'commit', error: new TypeError('x'.repeat(1000), { cause }) })
    expect(lines[0]?.error).toEqual({
      name: 'TypeError',
      code: 'INVALID_PRODUCER_EPOCH',
      message: `${'x'.repeat(500)}…`,
    })
  })

  it('contains no phone number and no quoted body from an error, in any event', () => {
    const { telemetry, lines } = logging('trace')
    const quoting = errorOf(() => JSON.parse('{"text": Ваш код 4711'))
    for (const error of [new Error('cannot send to 380501234567'), quoting]) {
      for (const [name, event] of Object.entries(buildEvents(1))) {
        const hostile = { error: event && 'error' in event && event.error instanceof Error ? error : error.message }
        telemetry.emit(name as keyof Events, ...([{ ...event, ...hostile, message: error.message }] as [never]))
      }
    }
    const text = JSON.stringify(lines)
    expect(lines).toHaveLength(2 * Object.values(logLines).filter(line => line !== null).length)
    expect(text).not.toContain('380501234567')
    expect(text).not.toContain('код')
  })

  it('is not slowed down by a very long error text', () => {
    const { telemetry, lines } = logging()
    const error = 'Unexpected token '.repeat(250_000)
    telemetry.emit('account.paused', { ...buildEvents(1)['account.paused'], error })
    expect(lines).toMatchObject([{ error: 'not valid JSON' }])
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
