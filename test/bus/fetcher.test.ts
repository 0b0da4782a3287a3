import { expect, onTestFinished, test } from 'vitest'
import { Fetcher } from '../../src/bus/kafka/fetcher.ts'
import type { Reading } from '../../src/bus/kafka/reading.ts'
import type { Brokers } from '../../src/bus/wire/brokers.ts'
import { Unanswered } from '../../src/bus/wire/errors.ts'
import type { FetchRequest } from '../../src/bus/wire/fetch-api.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { type AnsweredPartition, buildBatch, buildFetchAnswer, decodeFetch } from '../support/batches.ts'
import { ManualClock, settled } from '../support/clock.ts'

type Answer = Omit<AnsweredPartition, 'partition'> | Error | null

const nothing = Buffer.alloc(0)
const leader = 1

/** Reads one partition, led by node 1, of brokers that answer as the test says; null: not yet. */
function build(answer: (node: number, request: FetchRequest) => Answer, rack?: string) {
  const clock = new ManualClock()
  const asked: [node: number, rack: string, offset: number][] = []
  const offsets: number[] = []
  const brokers = {
    leader: async () => leader,
    refresh: async () => {},
    async ask({ node }: { node: number }, _api: unknown, request: FetchRequest) {
      const { offset } = request.partitions[0]!
      asked.push([node, request.rack, offset])
      const answered = answer(node, request)
      if (answered instanceof Error) throw answered
      if (answered === null) return new Promise(() => {})
      return decodeFetch(buildFetchAnswer(12, [{ partition: 0, ...answered }]), 12)
    },
  } as unknown as Brokers
  const fetcher = new Fetcher({ brokers, clock, telemetry: new Telemetry(), rack })
  onTestFinished(() => void fetcher.close())
  const reading: Reading = {
    tp: { topic: 'topic', partition: 0 },
    offset: 0,
    life: 0,
    paused: false,
    take: ({ records }) => void offsets.push(...records.map(({ offset }) => offset)),
    cut: () => {},
  }
  fetcher.read(reading)
  const settle = async () => {
    for (let i = 0; i < 30; i++) await settled()
  }
  return { asked, offsets, settle }
}

test('who names no rack is answered by leaders', async () => {
  const { asked, offsets, settle } = build((_, { partitions: [first] }) =>
    first!.offset === 0 ? { bytes: buildBatch([0, 1]) } : null,
  )
  await settle()
  expect(asked).toEqual([
    [leader, '', 0],
    [leader, '', 2],
  ])
  expect(offsets).toEqual([0, 1])
})

test('a replica that the leader prefers is read from', async () => {
  const { asked, settle } = build((node, { partitions: [first] }) => {
    if (node === leader) return { bytes: nothing, preferredReplica: 3 }
    return first!.offset < 2 ? { bytes: buildBatch([first!.offset]) } : null
  }, 'near')
  await settle()
  expect(asked).toEqual([
    [leader, 'near', 0],
    [3, 'near', 0],
    [3, 'near', 1],
    [3, 'near', 2],
  ])
})

test('a replica that fails is left for its leader at once, and for a minute', async () => {
  const { asked, offsets, settle } = build((node, { rack, partitions: [first] }) => {
    if (node !== leader) return new Unanswered('gone')
    if (rack) return { bytes: nothing, preferredReplica: 3 }
    return first!.offset === 0 ? { bytes: buildBatch([0]) } : null
  }, 'near')
  await settle()
  expect(asked).toEqual([
    [leader, 'near', 0],
    [3, 'near', 0],
    [leader, '', 0],
    [leader, '', 1],
  ])
  expect(offsets).toEqual([0])
})

test('a replica that does not have the offset yet does not make anybody believe that the log was cut', async () => {
  const { asked, settle } = build((node, { rack }) => {
    if (node !== leader) return { bytes: nothing, errorCode: 1 }
    return rack ? { bytes: nothing, preferredReplica: 3 } : null
  }, 'near')
  await settle()
  expect(asked.at(-1)).toEqual([leader, '', 0])
})
