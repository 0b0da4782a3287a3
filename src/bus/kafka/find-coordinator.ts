import type { InternalBroker, InternalCluster } from './internals.ts'

const refusals = new Set(['GROUP_AUTHORIZATION_FAILED', 'INVALID_GROUP_ID'])

/** Asks one node after the other: kafkajs's own search keeps to itself why it found none. @throws Error of the last one */
export async function findCoordinator(cluster: InternalCluster, groupId: string): Promise<InternalBroker> {
  let failure: unknown = new Error('no broker is known')
  for (const nodeId of cluster.getNodeIds()) {
    try {
      const node = await cluster.findBroker({ nodeId })
      const { coordinator } = await node.findGroupCoordinator({ groupId, coordinatorType: 0 })
      return await cluster.findBroker({ nodeId: coordinator.nodeId })
    } catch (error) {
      failure = error
      if (refusals.has((error as { type?: string }).type ?? '')) break
    }
  }
  throw failure
}
