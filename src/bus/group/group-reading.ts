import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { byTopic, noEpoch, offsetCommit } from '../cluster/apis.ts'
import type { Brokers } from '../cluster/brokers.ts'
import type { Bus, GroupReadOptions } from '../port.ts'
import type { PartitionOffsets } from '../read/partition-offsets.ts'
import { GroupReading } from '../streams/group-reading.ts'
import { Coordinator } from './coordinator.ts'
import { partitionsAgeMs } from './group.ts'

export interface KafkaGroupReadingOptions extends GroupReadOptions {
  topics: readonly string[]
  brokers: Brokers
  logs: PartitionOffsets
  follow: Bus['follow']
  clock: Clock
  telemetry: Telemetry
  /** Name of this process for other members. */
  clientId: string
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
  drainMs: number
}

const commitLimitMs = 3_000

/** @throws GroupError when the group refuses this process */
export function readKafkaGroup(options: KafkaGroupReadingOptions): Promise<GroupReading> {
  const { brokers, logs, groupId, clientId } = options
  return GroupReading.join({
    ...options,
    partitionsAgeMs,
    transport: new Coordinator({ ...options, process: clientId, protocol: 'busgate-readers' }),
    async committed(tps) {
      const progress = await logs.committed(groupId, tps)
      return progress.map(({ committed, error }) => {
        if (error) throw error
        return committed?.offset ?? null
      })
    },
    async commit({ generation, memberId }, offsets) {
      const topics = byTopic(offsets, ({ partition, offset }) => ({
        partitionIndex: partition,
        committedOffset: BigInt(offset),
        committedLeaderEpoch: noEpoch,
        committedMetadata: '',
      }))
      const how = { line: 'group', limitMs: commitLimitMs } as const
      await brokers.ask({ group: groupId }, offsetCommit, [groupId, generation, memberId, null, topics], how)
    },
  })
}
