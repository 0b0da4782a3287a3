/** Right is what an account may do with a topic or a group, as far as it matters here. */
export type Right = 'READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS'

/** Bits of `authorized_operations`: the codes of org.apache.kafka.common.acl.AclOperation. */
const bits: Record<Right, number> = { READ: 3, WRITE: 4, DESCRIBE: 8, DESCRIBE_CONFIGS: 10 }

export function rightsIn(operations: number): Set<Right> {
  return new Set((Object.keys(bits) as Right[]).filter(right => operations & (1 << bits[right])))
}
