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
  const userData = Buffer.from('{"process":"tag"}')
  const bytes = encodeSubscription({ topics, process: 'tag' })
  expect(bytes).toEqual(MemberMetadata.encode({ version: 0, topics, userData }))
  expect(decodeSubscription(bytes)).toEqual({ topics, process: 'tag' })
})

test('an older member that tells its topics alone is understood', () => {
  const bytes = MemberMetadata.encode({ version: 0, topics: ['commands'], userData: Buffer.alloc(0) })
  expect(decodeSubscription(bytes)).toEqual({ topics: ['commands'], process: null })
})

test('partitions are told as older members of the group understand them', () => {
  const partitions = [0, 3].map(partition => ({ topic: 'commands', partition }))
  const told = { counts: new Map([['commands', 4]]), processes: ['a', 'b'] }
  const bytes = encodeAssignment(partitions, told)
  const userData = Buffer.from('{"partitions":{"commands":4},"processes":["a","b"]}')
  expect(bytes).toEqual(MemberAssignment.encode({ version: 0, assignment: { commands: [0, 3] }, userData }))
  expect(decodeAssignment(bytes)).toEqual({ partitions, ...told })
})

test('a leader that tells no counts, or something else in their place, is understood', () => {
  const assignment = { commands: [1] }
  for (const userData of [Buffer.alloc(0), Buffer.from('not JSON')]) {
    const bytes = MemberAssignment.encode({ version: 0, assignment, userData })
    const partitions = [{ topic: 'commands', partition: 1 }]
    expect(decodeAssignment(bytes)).toEqual({ partitions, counts: null, processes: null })
  }
  expect(decodeAssignment(Buffer.alloc(0))).toEqual({ partitions: [], counts: null, processes: null })
})

test('what another program says of itself is no topic', () => {
  expect(decodeSubscription(Buffer.from([0, 0, 0, 0, 0, 9, 1]))).toEqual({ topics: [], process: null })
})
