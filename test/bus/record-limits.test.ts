import { expect, test } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { sizeInBatch } from '../../src/bus/record-size.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { refusal } from '../support/fake-cluster.ts'

const tooLarge = refusal('MESSAGE_TOO_LARGE')

/** A record with a shorter version of 300 bytes. */
const buildRecord = (topic: string, bytes: number): OutgoingRecord => ({
  ...{ topic, key: null, value: Buffer.alloc(bytes) },
  shorter: () => ({ topic, key: null, value: Buffer.alloc(300) }),
})

/** Topics with a limit on the bytes of a record, and what the broker answers when it is asked for the limit. */
function buildBroker(
  maxBytes: Record<string, number>,
  answerOf: (topic: string) => number | null = topic => maxBytes[topic]!,
) {
  const asked: string[] = []
  const telemetry = new Telemetry()
  const limits = new RecordLimits({
    ask: async topic => {
      asked.push(topic)
      return answerOf(topic)
    },
    telemetry,
  })
  let refusals = 0
  async function write(records: OutgoingRecord[]): Promise<readonly OutgoingRecord[]> {
    for (;;) {
      let written: readonly OutgoingRecord[] = []
      const send = async (fitting: readonly OutgoingRecord[]) => {
        if (fitting.some(record => sizeInBatch(record) > maxBytes[record.topic]!)) {
          throw new Error('send failed', { cause: tooLarge })
        }
        written = fitting
      }
      const refused = await limits.produce(records, send).then(
        () => false,
        () => true,
      )
      if (!refused) return written
      if (++refusals > 30) throw new Error('refused for ever')
    }
  }
  return { maxBytes, asked, telemetry, limits, write, refusals: () => refusals }
}

test('the limit of a topic is read once for all writers', async () => {
  const { write, asked, refusals } = buildBroker({ results: 10_000, doubts: 10_000 })
  await Promise.all([
    write([buildRecord('results', 10)]),
    write([buildRecord('results', 20), buildRecord('doubts', 30)]),
  ])
  await write([buildRecord('results', 10)])
  expect(asked.toSorted()).toEqual(['doubts', 'results'])
  expect(refusals()).toBe(0)
})

test('a limit that was lowered is noticed at the first refusal', async () => {
  const { write, maxBytes, refusals } = buildBroker({ results: 100_000 })
  await write([buildRecord('results', 64_000)])
  maxBytes.results = 10_000
  const [written] = await write([buildRecord('results', 64_000)])
  expect(written!.value).toHaveLength(300)
  expect(refusals()).toBe(1)
})

test('if the limit may not be read, a refused record is shortened, and those of other topics stay whole', async () => {
  const { write, refusals } = buildBroker({ results: 1_000_000, letters: 20_000 }, () => null)
  const [result, letter] = await write([buildRecord('results', 12_000), buildRecord('letters', 900_000)])
  expect(result!.value).toHaveLength(12_000)
  expect(letter!.value).toHaveLength(300)
  const before = refusals()
  await write([buildRecord('letters', 900_000)])
  expect(refusals()).toBe(before)
})

test('concurrent refusals lower the limit only once', async () => {
  const roomAfter = async (atOnce: number) => {
    const { limits } = buildBroker({ results: 1_000_000 }, () => null)
    const records = Array.from({ length: 100 }, () => buildRecord('results', 2000))
    const produce = () => limits.produce(records, () => Promise.reject(tooLarge)).catch(() => {})
    await produce() // the topic has been asked
    await Promise.all(Array.from({ length: atOnce }, produce))
    return limits.room('results')
  }
  expect(await roomAfter(5)).toBe(await roomAfter(1))
})

test('a record that cannot become shorter stays refused, and affects no other', async () => {
  const { limits, maxBytes } = buildBroker({ commands: 20_000 }, () => null)
  const hopeless = { topic: 'commands', key: null, value: Buffer.alloc(30_000) }
  const publish = () => limits.produce([hopeless], () => Promise.reject(tooLarge)).catch(() => {})
  for (let i = 0; i < 10; i++) await publish()
  expect(limits.room('commands')).toBeGreaterThan(maxBytes.commands! / 2)
})

test('an error that is not about size changes no limit', async () => {
  const { limits, asked } = buildBroker({ results: 1000 }, () => null)
  const room = limits.room('results')
  const fenced = refusal('INVALID_PRODUCER_EPOCH')
  await expect(limits.produce([buildRecord('results', 10)], () => Promise.reject(fenced))).rejects.toBe(fenced)
  expect([limits.room('results'), asked]).toEqual([room, ['results']])
})

test('a limit that was not told is requested again only for a record that does not fit', async () => {
  let answers = false
  const { write, asked } = buildBroker({ doubts: 10_000_000 }, () => (answers ? 10_000_000 : null))
  const lengthOf = async (bytes: number) => (await write([buildRecord('doubts', bytes)]))[0]!.value!.length
  expect([await lengthOf(1000), await lengthOf(1000), asked.length]).toEqual([1000, 1000, 1])
  expect([await lengthOf(2_000_000), asked.length]).toEqual([300, 2])
  answers = true
  expect([await lengthOf(2_000_000), await lengthOf(2_000_000), asked.length]).toEqual([2_000_000, 2_000_000, 3])
})
