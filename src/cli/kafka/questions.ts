import { defineApi } from '../../bus/wire/api.ts'

/** Right is what an account may do with a topic or a group, as far as it matters here. */
export type Right = 'READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS'

/** Bits of `authorized_operations`: the codes of org.apache.kafka.common.acl.AclOperation. */
const bits: Record<Right, number> = { READ: 3, WRITE: 4, DESCRIBE: 8, DESCRIBE_CONFIGS: 10 }

export function rightsIn(operations: number): Set<Right> {
  return new Set((Object.keys(bits) as Right[]).filter(right => operations & (1 << bits[right])))
}

/** When the open transaction of this id began, by the clock of its coordinator; null: there is none. */
export const describeTransaction = defineApi<{ id: string }, { began: number | null }>({
  name: 'DescribeTransactions',
  key: 65,
  versions: [0, 0],
  flexible: 0,
  write: (to, { id }) => void to.values([id], one => to.string(one)),
  read(from) {
    from.skip(4) // throttle time
    const [began = 0] = from.array(() => {
      const errorCode = from.int16()
      for (const _ of ['transactional id', 'state']) from.string()
      const at = from.skip(4).int64() // behind the time-out
      from.skip(10) // producer
      from.array(() => {
        from.string()
        from.values(() => from.int32())
      })
      return errorCode === 0 ? at : 0
    })
    return { began: began > 0 ? began : null }
  },
})
