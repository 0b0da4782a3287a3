import { describe, expect, test } from 'vitest'
import { messages } from '../../src/cli/demo/scenario.ts'
import { loadSettings } from '../../src/config/index.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import { CommandRecords, InvalidCommandError, type NewCommand } from '../../src/records/command-record.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'

import { decodeWith } from './codec.ts'

const hour = 3_600_000
const topics = ['first', 'second', 'third']
const registry = embeddedRegistry()
const settings = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' }, topics: { commands: topics } } })
const records = await CommandRecords.open(settings, registry, null)
const decoder = createDecoder<SendCommand>(schemas.command, registry)

const sms = { id: 7n, phone: 380501234567, type: 'sms', message: { sms_signature: 'Shop', sms_message: 'Hi' } } as const

/** What a worker reads of the record of a new command. */
async function readOf(command: NewCommand) {
  const [draft] = records.of([command])
  expect(await records.recordsOf([draft!])).toEqual([draft!.record])
  const { topic, key, value } = draft!.record
  const decoded = await decodeWith(decoder, value as Buffer)
  return { topic, key: String(key), value: decoded.ok ? decoded.value : decoded }
}

describe('a new command is written', () => {
  test.each(sendTypes)(
    'of type %s to the most urgent topic if somebody waits for it, else to the last one',
    async type => {
      const { topic, key } = await readOf({ ...sms, type, message: messages[type] } as NewCommand)
      expect([topic, key]).toEqual([type === 'call/otp' || type === 'telegram' ? 'first' : 'third', '7'])
    },
  )

  test.each([
    [0, 'first'],
    [1, 'second'],
    ['second', 'second'],
    ['third', 'third'],
  ])('to the topic of its lane %s', async (lane, topic) => {
    expect((await readOf({ ...sms, lane })).topic).toBe(topic)
  })

  test('with the documented defaults', async () => {
    const { value } = await readOf(sms)
    expect(value).toMatchObject({
      ...{ id: 7n, phone: 380501234567, account: 'default', deadline: null, delivery: 'DEFAULT', hook: null },
      ...{ correlationId: null, tenant: null, campaign: null, extra: {}, notBefore: null },
    })
  })

  test('with all that it sets', async () => {
    const given = {
      account: 'shop',
      delivery: 'AT_MOST_ONCE',
      hook: 'https://example.com/hook',
      correlationId: 'order 7',
      tenant: 'acme',
      campaign: 'spring',
      extra: { ttl: '5' },
    } as const
    const [notBefore, deadline] = [Date.now() + hour, new Date(Date.now() + 2 * hour)]
    const { value } = await readOf({ ...sms, ...given, id: 8, phone: 380501234567n, notBefore, deadline })
    expect(value).toMatchObject({ ...given, id: 8n, phone: 380501234567, notBefore, deadline: deadline.getTime() })
  })
})

describe('nothing is written if a command is wrong, and the error', () => {
  const errorOf = (commands: readonly unknown[]): InvalidCommandError => {
    try {
      records.of(commands as NewCommand[])
    } catch (error) {
      if (error instanceof InvalidCommandError) return error
    }
    throw new Error('nothing was wrong')
  }

  test.each([
    [{ ...sms, id: 7n }, /^command 7: tenant must be /],
    [{ ...sms, id: 7 }, /^command 7: /],
    [{ ...sms, id: 'x'.repeat(100) }, new RegExp(`^command ${'x'.repeat(32)}: `)],
    [{ ...sms, id: 2n ** 63n }, /^a command with an id out of range: /],
    [{ ...sms, id: { toString: () => 'x' } }, /^a command without an id: /],
    [{ ...sms, id: undefined }, /^a command without an id: /],
    [null, /^a command without an id: a command must be an object$/],
  ])('names it: %#', (command, message) => {
    expect(errorOf([command && { ...command, tenant: 5 }]).message).toMatch(message)
  })

  test('has all that is wrong in all of them, each with the place and the id of its command', () => {
    const horizon = { ...sms, id: 3n, notBefore: Date.now() + 10_000 * hour }
    const error = errorOf([{ ...sms, tenant: 5, campaign: 6 }, sms, { ...sms, id: 2n, phone: 'x' }, horizon])
    expect(error.problems.map(({ index, id, field }) => [index, id, field])).toEqual([
      [0, 7n, 'tenant'],
      [0, 7n, 'campaign'],
      [2, 2n, 'phone'],
      [3, 3n, 'notBefore'],
    ])
    expect(error.message).toMatch(/^command 7: tenant must be .* \(and 3 more: see problems\)$/)
    expect(errorOf([{ ...sms, tenant: 5 }]).message).not.toContain('more')
  })

  test('says so of a text that is cut within a character', () => {
    const message = { ...sms.message, sms_message: 'cut \ud83d' }
    expect(errorOf([{ ...sms, message }]).problems).toMatchObject([
      { index: 0, id: 7n, expected: expect.stringContaining('sms_message') },
    ])
  })
})
