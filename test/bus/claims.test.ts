import { describe, expect, test } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryGroup } from '../../src/bus/memory/group.ts'
import { MemorySharedCommits } from '../../src/bus/memory/shared-commits.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { packCheckpoint, unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import type { GroupMember } from '../../src/bus/session/member.ts'
import { INTENT, Window } from '../../src/bus/session/window.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

const tp = { topic: 'commands', partition: 0 }
const groupId = 'workers'
const partitionId = `${groupId}-commands-0`

/** A process that commits together and takes over a partition, whose checkpoint holds an intent of the process `apart`. */
function build() {
  const clock = new ManualClock()
  const broker = new MemoryBroker(clock)
  broker.createTopics([{ topic: tp.topic, partitions: 1 }])
  const checkpoint = (tag: string, seq: number) => {
    const window = new Window(7)
    window.set(7, INTENT)
    return packCheckpoint({ tag, seq, window, uncheckedUntil: 0, intentsSince: 0 })
  }
  const fence = () => ({ id: partitionId, epoch: broker.fence(partitionId) })
  const commitApart = (tag: string, seq: number, producer = fence()) =>
    broker.commit(producer, groupId, [{ ...tp, records: [], offset: 7, metadata: checkpoint(tag, seq) }], clock.now())
  const group = new MemoryGroup(clock)
  const member = { synced: { memberId: 'm', generation: 1 }, processes: ['own'], breaks: 0 }
  group.checkCommit = ({ generation }) => {
    if (generation !== current.generation) throw new Error('the generation is over')
  }
  const current = { generation: 1 }
  /** What happens right before a step reaches the broker. */
  const before = new Map<string, () => void>()
  const steps: string[] = []
  const commits = new MemorySharedCommits({
    broker,
    groupId,
    group,
    member: () => member as unknown as GroupMember,
    tag: 'own',
    limits: new RecordLimits({ ask: async () => null, clock, telemetry: new Telemetry() }),
    clock,
    atBroker: async (step, act) => {
      steps.push(step)
      before.get(step)?.()
      return act()
    },
  })
  const stored = () => {
    const { offset, metadata } = broker.committed(groupId, tp)!
    const { tag, seq } = unpackCheckpoint(offset, metadata)
    return { tag, seq }
  }
  const claims = () => steps.filter(step => step === 'commit commands/0').length
  return { broker, commits, commitApart, checkpoint, fence, member, current, before, stored, claims }
}

describe('a take-over by a process that commits together', () => {
  test("makes another process's checkpoint nobody's, and goes on from there", async () => {
    const { commits, commitApart, stored } = build()
    commitApart('apart', 4)
    const { committed } = await commits.acquire(tp)
    expect(stored()).toEqual({ tag: '~own', seq: 5 })
    const { seq, window } = unpackCheckpoint(committed!.offset, committed!.metadata)
    expect([seq, window.get(7)]).toEqual([5, INTENT])
  })

  test.each(['own', '~other'])('leaves a checkpoint of %s as it is', async tag => {
    const { commits, commitApart, stored, claims } = build()
    commitApart(tag, 4)
    await commits.acquire(tp)
    expect(stored()).toEqual({ tag, seq: 4 })
    expect(claims()).toBe(0)
  })

  test('fences its own partition once, until a generation has passed it by', async () => {
    const { commits, commitApart, member, fence } = build()
    commitApart('own', 4)
    await commits.acquire(tp)
    const before = fence().epoch
    await commits.acquire(tp)
    expect(fence().epoch).toBe(before + 1)
    member.breaks++
    await commits.acquire(tp)
    expect(fence().epoch).toBe(before + 3)
  })

  test('fences its own partition anew after it has committed apart there', async () => {
    const { commits, commitApart, fence } = build()
    commitApart('own', 4)
    await commits.acquire(tp)
    await commits.acquireApart(tp, fence)
    const before = fence().epoch
    await commits.acquire(tp)
    expect(fence().epoch).toBe(before + 2)
  })

  test('claims it anew whenever another process has committed since', async () => {
    const { commits, commitApart, claims } = build()
    commitApart('apart', 4)
    await commits.acquire(tp)
    await commits.acquire(tp)
    expect(claims()).toBe(1)
    commitApart('another', 6)
    await commits.acquire(tp)
    expect(claims()).toBe(2)
  })

  test('does not write over what one that commits apart tells after it was read', async () => {
    const { commits, commitApart, stored, before } = build()
    commitApart('apart', 4)
    before.set('commit commands/0', () => commitApart('apart', 5))
    await expect(commits.acquire(tp)).rejects.toThrow('taken over by another owner')
    expect(stored()).toEqual({ tag: 'apart', seq: 5 })
    before.clear()
    await commits.acquire(tp)
    expect(stored()).toEqual({ tag: '~own', seq: 6 })
  })

  test('does not claim in a generation in which the partition may be given to another process', async () => {
    const { commits, commitApart, stored, before, current, member } = build()
    commitApart('apart', 4)
    before.set('commit commands/0', () => {
      current.generation = 2
      member.synced = { memberId: 'm', generation: 2 }
    })
    await expect(commits.acquire(tp)).rejects.toThrow('the generation is over')
    expect(stored()).toEqual({ tag: 'apart', seq: 4 })
  })

  test('fences once, though it waits for an open transaction: whoever fences later is the next owner', async () => {
    const { commits, commitApart, stored, fence, before, broker } = build()
    commitApart('apart', 4)
    const busy = { id: `${groupId}-process-own2`, epoch: broker.fence(`${groupId}-process-own2`) }
    broker.openTransactions = () => []
    broker.write(busy, groupId, [{ ...tp, records: [], offset: 7, metadata: '' }], 0)
    let reads = 0
    before.set('acquire commands/0', () => {
      if (++reads !== 2) return
      broker.fence(busy.id)
      fence()
    })
    const acquired = commits.acquire(tp)
    const refused = expect(acquired).rejects.toThrow('taken over by another owner')
    await clockOf(broker).pass(50)
    await refused
    expect(stored()).toEqual({ tag: 'apart', seq: 4 })
  })
})

const clockOf = (broker: MemoryBroker) => broker.clock as ManualClock
