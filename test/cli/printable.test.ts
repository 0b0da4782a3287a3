import { expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { printed, showDeadLetters, showResults, showStatuses } from '../../src/cli/commands/tail.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { registryOf } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { busgateHere } from '../support/cli.ts'
import { buildResult } from '../support/results.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { buildSettings } from '../support/settings.ts'
import { buildStatusEvent } from '../support/status-events.ts'

/** Clears the screen, rings the bell, starts a C1 sequence, reverses the text direction, and fakes a line of busgate. */
const hostile = '\x1b[2Jbell\x07\x9b31m\u202egnp\u2028\nbusgate: all is well'
const controlCharacters = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u
const settings = buildSettings()

const recordOf = (value: Buffer, headers: BusRecord['headers'] = {}): BusRecord => ({
  ...{ offset: 0, timestamp: 1_763_000_000_000, key: Buffer.from('1'), value, headers },
})

async function encoded(topic: string, schema: object, value: object): Promise<BusRecord> {
  const encode = await createEncoder<object>(subjectOf(topic), schema, registryOf(settings))
  return recordOf(encode(value))
}

const result: SendResult = buildResult({ outcome: 'REJECTED', errorCode: 'REJECTED', error: hostile, msgId: hostile })
const event: StatusEvent = buildStatusEvent({
  status: hostile,
  type: hostile,
  error: hostile,
  extra: JSON.stringify({ hostile }),
})
const deadHeaders = { 'busgate.error.stage': hostile, 'busgate.error.code': hostile, 'busgate.error.message': hostile }
const deadLetter = recordOf(Buffer.from(hostile), deadHeaders)

test.each([
  ['results', showResults(settings), () => encoded('results', schemas.result, result), 'error', hostile],
  ['statuses', showStatuses(settings), () => encoded('statuses', schemas.status, event), 'status', hostile],
  ['dead letters', showDeadLetters(settings), async () => deadLetter, 'headers', deadHeaders],
] as const)('tail shows %s with control characters escaped', async (_, show, record, field, original) => {
  const shown = (await show(await record(), { topic: 'a-topic', partition: 0 })) as never
  const [line, json] = [printed(shown), printed(shown, true)]
  expect(line).toContain('\\u001b[2Jbell\\u0007\\u009b31m\\u202egnp\\u2028\\nbusgate')
  expect([line, json].filter(text => controlCharacters.test(text))).toEqual([])
  expect(JSON.parse(json)[field]).toEqual(original)
  expect(JSON.parse(json).place).toBe('a-topic/0@0')
})

test("a registry's answer is shown with control characters escaped, as text and as JSON", async () => {
  const proxy = await startProxy()
  proxy.answer = ({ path }) => {
    const answer = path.endsWith('/versions')
      ? [1]
      : { compatibilityLevel: hostile, version: 1, id: 1, is_compatible: false, messages: [hostile] }
    return { body: JSON.stringify(answer) }
  }
  const env = { BUSGATE_REGISTRY_URL: proxy.url }
  for (const flags of [[], ['--json']]) {
    const { stdout, stderr } = await busgateHere(['schemas', 'check', ...flags], { env })
    expect(stdout + stderr).toContain('\\u001b[2J')
    expect((stdout + stderr).split('\n').filter(line => controlCharacters.test(line))).toEqual([])
  }
})
