import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../../src/bus/kafka/assignment-codec.ts'

const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol

test('topics are told as older members of the group tell them', () => {
  const topics = ['commands', 'größer']
  const bytes = encodeSubscription(topics)
  expect(bytes).toEqual(MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }))
  expect(decodeSubscription(bytes)).toEqual(topics)
})

test('partitions are told as older members of the group understand them', () => {
  const partitions = [0, 3].map(partition => ({ topic: 'commands', partition }))
  const bytes = encodeAssignment({ partitions, counts: new Map([['commands', 4]]) })
  const userData = Buffer.from('{"partitions":{"commands":4}}')
  expect(bytes).toEqual(MemberAssignment.encode({ version: 0, assignment: { commands: [0, 3] }, userData }))
  expect(decodeAssignment(bytes)).toEqual({ partitions, counts: new Map([['commands', 4]]) })
})

test('a leader that tells no counts, or something else in their place, is understood', () => {
  const assignment = { commands: [1] }
  for (const userData of [Buffer.alloc(0), Buffer.from('not JSON')]) {
    const bytes = MemberAssignment.encode({ version: 0, assignment, userData })
    expect(decodeAssignment(bytes)).toEqual({ partitions: [{ topic: 'commands', partition: 1 }], counts: null })
  }
  expect(decodeAssignment(Buffer.alloc(0))).toEqual({ partitions: [], counts: null })
})

test('what another program says of itself is no topic', () => {
  expect(decodeSubscription(Buffer.from([0, 0, 0, 0, 0, 9, 1]))).toEqual([])
})
