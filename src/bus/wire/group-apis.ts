import { defineApi } from './api.ts'

/** A member of a group in one generation. A static one has an instance id that outlives its process. */
export interface MemberIdentity {
  groupId: string
  generation: number
  memberId: string
  instanceId: string | null
}

interface CodedAnswer {
  errorCode: number
}

export interface JoinRequest extends Omit<MemberIdentity, 'generation'> {
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
  protocols: readonly { name: string; metadata: Buffer }[]
}

export interface JoinAnswer extends CodedAnswer {
  generation: number
  /** The group's choice of the protocols that were offered. */
  protocol: string
  leader: string
  memberId: string
  /** Whether the group keeps its assignment: its leader, a static member, has come back. */
  assigned: boolean
  /** Told to the leader alone. */
  members: { memberId: string; metadata: Buffer }[]
}

const consumer = 'consumer'
const nothing = Buffer.alloc(0)
/** The first versions of Join, and of the others, that know static members. */
const staticJoin = 5
const staticMember = 3

export const joinGroup = defineApi<JoinRequest, JoinAnswer>({
  name: 'JoinGroup',
  key: 11,
  versions: [2, 9],
  flexible: 6,
  write(to, { groupId, memberId, instanceId, sessionTimeoutMs, rebalanceTimeoutMs, protocols }, version) {
    to.string(groupId).int32(sessionTimeoutMs).int32(rebalanceTimeoutMs).string(memberId)
    if (version >= staticJoin) to.string(instanceId)
    to.string(consumer).array(protocols, ({ name, metadata }) => void to.string(name).buffer(metadata))
    if (version >= 8) to.string(null) // the reason for the join
  },
  read(from, version) {
    from.skip(4) // throttle time
    const head = { errorCode: from.int16(), generation: from.int32() }
    if (version >= 7) from.nullableString() // protocol type
    const names = { protocol: from.string(), leader: from.string() }
    const assigned = version >= 9 && from.boolean()
    const memberId = from.string()
    const members = from.array(() => {
      const memberId = from.string()
      if (version >= staticJoin) from.nullableString()
      return { memberId, metadata: from.buffer() ?? nothing }
    })
    return { ...head, ...names, assigned, memberId, members }
  },
})

export interface SyncRequest extends MemberIdentity {
  /** The one of the protocols that the group has. */
  protocol: string
  assignments: readonly { memberId: string; assignment: Buffer }[]
}

export const syncGroup = defineApi<SyncRequest, CodedAnswer & { assignment: Buffer }>({
  name: 'SyncGroup',
  key: 14,
  versions: [1, 5],
  flexible: 4,
  write(to, { groupId, generation, memberId, instanceId, protocol, assignments }, version) {
    to.string(groupId).int32(generation).string(memberId)
    if (version >= staticMember) to.string(instanceId)
    if (version >= 5) to.string(consumer).string(protocol)
    to.array(assignments, one => void to.string(one.memberId).buffer(one.assignment))
  },
  read(from, version) {
    from.skip(4) // throttle time
    const errorCode = from.int16()
    if (version >= 5) {
      from.nullableString()
      from.nullableString()
    }
    return { errorCode, assignment: from.buffer() ?? nothing }
  },
})

export const heartbeat = defineApi<MemberIdentity, CodedAnswer>({
  name: 'Heartbeat',
  key: 12,
  versions: [1, 4],
  flexible: 4,
  write(to, { groupId, generation, memberId, instanceId }, version) {
    to.string(groupId).int32(generation).string(memberId)
    if (version >= staticMember) to.string(instanceId)
  },
  read: from => ({ errorCode: from.skip(4).int16() }),
})

export const leaveGroup = defineApi<Omit<MemberIdentity, 'generation'>, CodedAnswer>({
  name: 'LeaveGroup',
  key: 13,
  versions: [1, 4],
  flexible: 4,
  write(to, { groupId, memberId, instanceId }, version) {
    to.string(groupId)
    if (version < staticMember) to.string(memberId)
    else to.array([memberId], id => void to.string(id).string(instanceId))
  },
  read(from, version) {
    const errorCode = from.skip(4).int16()
    if (errorCode || version < staticMember) return { errorCode }
    const codes = from.array(() => {
      from.string()
      from.nullableString()
      return from.int16()
    })
    return { errorCode: codes[0] ?? 0 }
  },
})

export interface GroupDescription {
  errorCode: number
  state: string
  /** Bits of org.apache.kafka.common.acl.AclOperation. */
  operations: number
}

export const describeGroup = defineApi<{ groupId: string }, GroupDescription>({
  name: 'DescribeGroups',
  key: 15,
  versions: [3, 5],
  flexible: 5,
  write: (to, { groupId }) => void to.values([groupId], id => to.string(id)).boolean(true),
  read(from, version) {
    from.skip(4) // throttle time
    const [group] = from.array(() => {
      const errorCode = from.int16()
      from.string() // its name
      const state = from.string()
      for (const _ of ['protocol type', 'protocol']) from.string()
      from.array(() => {
        from.string()
        if (version >= 4) from.nullableString()
        for (const _ of ['client', 'host']) from.string()
        for (const _ of ['metadata', 'assignment']) from.buffer()
      })
      return { errorCode, state, operations: from.int32() }
    })
    return group!
  },
})
