import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import {
  decodeAnnouncement,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../../src/bus/membership/assignment-codec.ts'

import { allPartitions } from '../../src/bus/partitions.ts'

const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol

const nothing = { generation: -1, partitions: [] }

test('a subscription follows the consumer protocol, with owned partitions, and the process as user data', () => {
  const topics = ['commands', 'größer']
  const owned = { generation: 7, partitions: [0, 3].map(partition => ({ topic: 'commands', partition })) }
  const bytes = encodeSubscription({ topics, process: 'tag', owned })
  expect(MemberMetadata.decode(bytes)).toEqual({ version: 2, topics, userData: Buffer.from('{"process":"tag"}') })
  expect(decodeSubscription(bytes)).toEqual({ topics, process: 'tag', owned })
})

test('a subscription of a member that owns 864 partitions takes less than 4 KB', () => {
  const topics = ['commands', 'commands.otp', 'doubts']
  const partitions = topics.flatMap(topic => allPartitions(topic, 288))
  const bytes = encodeSubscription({ topics, process: 'tag', owned: { generation: 7, partitions } })
  expect(bytes.length).toBeLessThan(4_096)
})

test('a subscription of another version without user data names no process and owns nothing', () => {
  for (const version of [0, 3]) {
    const bytes = MemberMetadata.encode({ version, topics: ['commands'], userData: Buffer.alloc(0) })
    expect(decodeSubscription(bytes)).toEqual({ topics: ['commands'], process: null, owned: nothing })
  }
})

test('an assignment follows the consumer protocol, with partition counts and processes as user data', () => {
  const partitions = [0, 3].map(partition => ({ topic: 'commands', partition }))
  const extra = { counts: new Map([['commands', 4]]), processes: ['a', 'b'] }
  const bytes = encodeAssignment(partitions, extra)
  const userData = Buffer.from('{"partitions":{"commands":4},"processes":["a","b"]}')
  expect(bytes).toEqual(MemberAssignment.encode({ version: 0, assignment: { commands: [0, 3] }, userData }))
  expect(decodeAssignment(bytes)).toEqual({ partitions, ...extra })
})

test.each([
  ['{"host":"a","installation":{"x":"1"}}', { host: 'a', installation: { x: '1' } }],
  ['{"host":"a"}', null],
  ['{"installation":{}}', null],
  ['null', null],
])('user data %s announces %o', (userData, announcement) => {
  const bytes = MemberMetadata.encode({ version: 3, topics: ['commands'], userData: Buffer.from(userData) })
  expect(decodeAnnouncement(bytes)).toEqual(announcement)
  expect(decodeSubscription(bytes).topics).toEqual(['commands'])
  expect(decodeAnnouncement(bytes.subarray(0, 9))).toBe(null)
})

test.each(['{"partitions":{}}', '{"processes":[]}', 'null', ''])(
  'an assignment with user data "%s" is of no leader of ours',
  userData => {
    const bytes = MemberAssignment.encode({ version: 0, assignment: {}, userData: Buffer.from(userData) })
    expect(decodeAssignment(bytes)).toBe(null)
  },
)

test('metadata of another program, or truncated metadata, names no topics', () => {
  const owned = { generation: 7, partitions: [{ topic: 'commands', partition: 0 }] }
  const cut = encodeSubscription({ topics: ['commands'], process: 'tag', owned }).subarray(0, -1)
  for (const bytes of [cut, Buffer.from([0, 0, 0, 0, 0, 9, 1]), Buffer.alloc(0)]) {
    expect(decodeSubscription(bytes)).toEqual({ topics: [], process: null, owned: nothing })
  }
})
