import kafkajs, { type AclEntry, type Admin } from 'kafkajs'
import type { Settings } from '../../src/config/index.ts'
import { plainKafka } from '../support/kafka.ts'

/** The SASL login of the processes under test. */
export const login = { user: 'busgate', password: 'password-of-chaos' }

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs
const { READ, WRITE, DESCRIBE_CONFIGS } = AclOperationTypes

/** Rights that can be revoked from all processes under test, and granted again. */
export interface Rights {
  names: readonly string[]
  revoke(name: string): Promise<void>
  grant(name: string): Promise<void>
}

/** Grants the processes under test all rights of docs/doctor.md. @param brokers without authorization */
export async function grantRights(brokers: string[], { topics, kafka }: Settings): Promise<Rights> {
  const { commands, ...others } = topics
  const all = [...commands, ...Object.values(others)].flatMap(topic =>
    [READ, WRITE, DESCRIBE_CONFIGS].map(operation => allow(AclResourceTypes.TOPIC, topic, operation)),
  )
  const groups = allow(AclResourceTypes.GROUP, kafka.groupId, READ)
  const transactions = allow(AclResourceTypes.TRANSACTIONAL_ID, kafka.groupId, WRITE)
  const ofTopic = (topic: string, operation: number) =>
    all.filter(acl => acl.resourceName === topic && acl.operation === operation)
  const revocable: Record<string, AclEntry[]> = {
    'READ of the group': [groups],
    'WRITE of the transactional ids': [transactions],
    'WRITE of the results': ofTopic(topics.results, WRITE),
    'READ of the commands': commands.flatMap(topic => ofTopic(topic, READ)),
  }
  await asAdmin(brokers, admin => admin.createAcls({ acl: [...all, groups, transactions] }))
  return {
    names: Object.keys(revocable),
    revoke: name => asAdmin(brokers, admin => admin.deleteAcls({ filters: revocable[name]! })),
    grant: name => asAdmin(brokers, admin => admin.createAcls({ acl: revocable[name]! })),
  }
}

/** Allows an operation on all names with this prefix, such as the reconciler's group and the transactional ids. */
function allow(resourceType: number, resourceName: string, operation: number): AclEntry {
  return {
    resourceType,
    resourceName,
    resourcePatternType: ResourcePatternTypes.PREFIXED,
    principal: `User:${login.user}`,
    host: '*',
    operation,
    permissionType: AclPermissionTypes.ALLOW,
  }
}

async function asAdmin(brokers: string[], act: (admin: Admin) => Promise<unknown>): Promise<void> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  try {
    await act(admin)
  } finally {
    await admin.disconnect()
  }
}
