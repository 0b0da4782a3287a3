/** Where a node listens: for clients and other nodes, and for the controllers' quorum. */
export interface NodeAddress {
  id: number
  host: string
  port: number
  controllerPort: number
}

/**
 * The server.properties of one node of a KRaft cluster in which every node is broker and controller.
 * Three nodes replicate everything three times and write with two; fewer keep single copies. Internal topics have
 * one partition: they are made faster, and a test knows which node coordinates.
 */
export function serverProperties(node: NodeAddress, cluster: NodeAddress[], dataDir: string): Record<string, string> {
  const replicas = String(Math.min(cluster.length, 3))
  const minIsr = cluster.length < 3 ? '1' : '2'
  const client = `PLAINTEXT://${node.host}:${node.port}`
  return {
    'process.roles': 'broker,controller',
    'node.id': String(node.id),
    'controller.quorum.voters': cluster.map(({ id, host, controllerPort }) => `${id}@${host}:${controllerPort}`).join(),
    'controller.listener.names': 'CONTROLLER',
    listeners: `${client},CONTROLLER://${node.host}:${node.controllerPort}`,
    'advertised.listeners': client,
    'log.dirs': dataDir,
    'default.replication.factor': replicas,
    'min.insync.replicas': minIsr,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': minIsr,
    'transaction.state.log.num.partitions': '1',
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': minIsr,
    'share.coordinator.state.topic.num.partitions': '1',
    'group.initial.rebalance.delay.ms': '0',
    'auto.create.topics.enable': 'false',
    // Half of the heap otherwise.
    'log.cleaner.dedupe.buffer.size': '4194304',
  }
}
