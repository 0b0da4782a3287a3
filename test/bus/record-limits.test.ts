import { expect, test } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { sizeInBatch } from '../../src/bus/record-size.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

/** A record that has a shorter one of 300 bytes. */
const buildRecord = (topic: string, bytes: number): OutgoingRecord => ({
  ...{ topic, key: null, value: Buffer.alloc(bytes) },
  shorter: () => ({ topic, key: null, value: Buffer.alloc(300) }),
})

/** Topics that take so many bytes in a record, and tell it or not. */
function buildBroker(takes: Record<string, number>, tells: (topic: string) => number | null = topic => takes[topic]!) {
  const asked: string[] = []
  const telemetry = new Telemetry()
  const clock = new ManualClock()
  const limits = new RecordLimits({
    ask: async topic => {
      asked.push(topic)
      return tells(topic)
    },
    clock,
    telemetry,
  })
  let refusals = 0
  async function write(records: OutgoingRecord[]): Promise<readonly OutgoingRecord[]> {
    for (;;) {
      let written: readonly OutgoingRecord[] = []
      const send = async (fitting: readonly OutgoingRecord[]) => {
        if (fitting.some(record => sizeInBatch(record) > takes[record.topic]!)) {
          throw new Error('send failed', { cause: Object.assign(new Error('no'), { type: 'MESSAGE_TOO_LARGE' }) })
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
  return { takes, asked, clock, telemetry, limits, write, refusals: () => refusals }
}

test('a topic is asked once for what it takes, whoever writes to it', async () => {
  const { write, asked, refusals } = buildBroker({ results: 10_000, doubts: 10_000 })
  await Promise.all([
    write([buildRecord('results', 10)]),
    write([buildRecord('results', 20), buildRecord('doubts', 30)]),
  ])
  await write([buildRecord('results', 10)])
  expect(asked.toSorted()).toEqual(['doubts', 'results'])
  expect(refusals()).toBe(0)
})

test('what is lowered meanwhile is found out by the first refusal', async () => {
  const { write, takes, refusals } = buildBroker({ results: 100_000 })
  await write([buildRecord('results', 64_000)])
  takes.results = 10_000
  const [written] = await write([buildRecord('results', 64_000)])
  expect(written!.value).toHaveLength(300)
  expect(refusals()).toBe(1)
})

test('where nobody may tell, less is tried until it is taken, and the records of other topics stay whole', async () => {
  const { write, refusals } = buildBroker({ results: 1_000_000, letters: 20_000 }, () => null)
  const [result, letter] = await write([buildRecord('results', 12_000), buildRecord('letters', 900_000)])
  expect(result!.value).toHaveLength(12_000)
  expect(letter!.value).toHaveLength(300)
  const before = refusals()
  await write([buildRecord('letters', 900_000)])
  expect(refusals()).toBe(before)
})

test('several that are refused for the same reason try less only once', async () => {
  const roomAfter = async (atOnce: number) => {
    const { limits } = buildBroker({ results: 1_000_000 }, () => null)
    const tooLarge = Object.assign(new Error('too large'), { type: 'MESSAGE_TOO_LARGE' })
    const records = Array.from({ length: 100 }, () => buildRecord('results', 2000))
    const produce = () => limits.produce(records, () => Promise.reject(tooLarge)).catch(() => {})
    await produce() // the topic has been asked
    await Promise.all(Array.from({ length: atOnce }, produce))
    return limits.room('results')
  }
  expect(await roomAfter(5)).toBe(await roomAfter(1))
})

test('a record that cannot become shorter is refused again and again, and nothing else suffers from it', async () => {
  const { limits, takes } = buildBroker({ commands: 20_000 }, () => null)
  const hopeless = { topic: 'commands', key: null, value: Buffer.alloc(30_000) }
  const tooLarge = Object.assign(new Error('too large'), { type: 'MESSAGE_TOO_LARGE' })
  const publish = () => limits.produce([hopeless], () => Promise.reject(tooLarge)).catch(() => {})
  for (let i = 0; i < 10; i++) await publish()
  expect(limits.room('commands')).toBeGreaterThan(takes.commands! / 2)
})

test('an error that says nothing of sizes changes nothing', async () => {
  const { limits, asked } = buildBroker({ results: 1000 }, () => null)
  const room = limits.room('results')
  const fenced = Object.assign(new Error('fenced'), { type: 'INVALID_PRODUCER_EPOCH' })
  await expect(limits.produce([buildRecord('results', 10)], () => Promise.reject(fenced))).rejects.toBe(fenced)
  expect([limits.room('results'), asked]).toEqual([room, ['results']])
})

test('a broker that did not tell at first is asked again by what does not fit: it is shortened for a second at most', async () => {
  let answers = false
  const { write, clock, asked } = buildBroker({ doubts: 10_000_000 }, () => (answers ? 10_000_000 : null))
  const lengthOf = async () => (await write([buildRecord('doubts', 2_000_000)]))[0]!.value!.length
  expect([await lengthOf(), await lengthOf(), asked.length]).toEqual([300, 300, 1])
  answers = true
  await clock.pass(1000)
  expect([await lengthOf(), await lengthOf(), asked.length]).toEqual([2_000_000, 2_000_000, 2])
})

test('a broker that never tells is asked less and less often, and not at all for what fits anyway', async () => {
  const { write, clock, asked } = buildBroker({ doubts: 10_000_000 }, () => null)
  const writeForMinutes = async (bytes: number) => {
    for (let i = 0; i < 60; i++) {
      await write([buildRecord('doubts', bytes)])
      await clock.pass(10_000)
    }
  }
  await writeForMinutes(1000)
  expect(asked).toHaveLength(1)
  await writeForMinutes(2_000_000)
  expect(asked.length).toBeLessThan(20)
})
