import { expect, test } from 'vitest'
import { GroupMember, type GroupTransport } from '../../src/bus/session/member.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

test('a leader that returns to a stable group assigns nothing, and rejoins if partitions were added meanwhile', async () => {
  const clock = new ManualClock()
  const assignments: (number | null)[] = []
  let joins = 0
  const transport: GroupTransport = {
    join: async () => ({
      memberId: 'm',
      leaderId: 'm',
      generation: 4 + joins,
      subscriptions: new Map([
        ['m', { topics: ['commands'], process: 'm', owned: { generation: -1, partitions: [] } }],
      ]),
      assigned: ++joins === 1,
    }),
    async sync(_, assignment) {
      assignments.push(assignment && assignment.shares.get('m')!.length)
      return { partitions: [], counts: assignment?.counts ?? new Map([['commands', 2]]), processes: ['m'] }
    },
    heartbeat: async () => {},
    leave: async () => {},
    partitions: async () => new Map([['commands', 3]]),
  }
  const member = new GroupMember({
    transport,
    topics: ['commands'],
    events: { joining: async () => {}, assigned: () => {} },
    clock,
    telemetry: new Telemetry(),
    sessionTimeoutMs: 10_000,
    partitionsAgeMs: 10_000,
  })
  await member.join()
  expect(assignments).toEqual([null])
  await clock.pass(3_000)
  expect(assignments).toEqual([null, 3])
  await member.close()
})
