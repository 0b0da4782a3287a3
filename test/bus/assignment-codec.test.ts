import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../../src/bus/group/assignment-codec.ts'

const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol

test('a subscription is one of the consumer protocol, with the process as user data', () => {
  const topics = ['commands', 'größer']
  const userData = Buffer.from('{"process":"tag"}')
  const bytes = encodeSubscription({ topics, process: 'tag' })
  expect(bytes).toEqual(MemberMetadata.encode({ version: 0, topics, userData }))
  expect(decodeSubscription(bytes)).toEqual({ topics, process: 'tag' })
})

test('a subscription without user data names no process', () => {
  const bytes = MemberMetadata.encode({ version: 0, topics: ['commands'], userData: Buffer.alloc(0) })
  expect(decodeSubscription(bytes)).toEqual({ topics: ['commands'], process: null })
})

test('an assignment is one of the consumer protocol, with counts and processes as user data', () => {
  const partitions = [0, 3].map(partition => ({ topic: 'commands', partition }))
  const told = { counts: new Map([['commands', 4]]), processes: ['a', 'b'] }
  const bytes = encodeAssignment(partitions, told)
  const userData = Buffer.from('{"partitions":{"commands":4},"processes":["a","b"]}')
  expect(bytes).toEqual(MemberAssignment.encode({ version: 0, assignment: { commands: [0, 3] }, userData }))
  expect(decodeAssignment(bytes)).toEqual({ partitions, ...told })
})

test('what another program says of itself is no topic', () => {
  expect(decodeSubscription(Buffer.from([0, 0, 0, 0, 0, 9, 1]))).toEqual({ topics: [], process: null })
})
