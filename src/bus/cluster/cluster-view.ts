import type { metadataV11 as Metadata } from '@platformatic/kafka'
import type { TopicPartition } from '../port.ts'
import type { Address } from './connecting.ts'
import { protocolError } from './errors.ts'

export type ClusterMetadata = Metadata.MetadataResponse
export type TopicMetadata = Metadata.MetadataResponseTopic

interface NodeAddress extends Address {
  nodeId: number
}

const unknownTopicOrPartition = 3
const leaderNotAvailable = 5

export class ClusterView {
  #nodes = new Map<number, NodeAddress>()
  #topics = new Map<string, TopicMetadata>()

  get nodes(): readonly number[] {
    return [...this.#nodes.keys()]
  }

  get addresses(): readonly Address[] {
    return [...this.#nodes.values()]
  }

  has({ host, port }: Address): boolean {
    return this.addresses.some(one => one.host === host && one.port === port)
  }

  take({ brokers, topics }: ClusterMetadata): void {
    this.#nodes = new Map(brokers.map(node => [node.nodeId, node]))
    this.#topics = new Map(topics.map(topic => [topic.name!, topic]))
  }

  /** Adds a coordinator, which may be newer than the metadata. */
  add(node: NodeAddress): void {
    this.#nodes.set(node.nodeId, node)
  }

  address(node: number): Address | undefined {
    return this.#nodes.get(node)
  }

  /** False also for a topic that was missing: it may exist by now. */
  knows(topic: string): boolean {
    return this.partitions(topic) > 0
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#topics.get(name)
  }

  partitions(topic: string): number {
    return this.#topics.get(topic)?.partitions.length ?? 0
  }

  /** @throws ProtocolError */
  leader({ topic, partition }: TopicPartition): number {
    const ofTopic = this.#topics.get(topic)
    if (ofTopic?.errorCode) throw protocolError(ofTopic.errorCode)
    const found = ofTopic?.partitions.find(one => one.partitionIndex === partition)
    if (!found) throw protocolError(unknownTopicOrPartition)
    if (found.leaderId < 0) throw protocolError(found.errorCode || leaderNotAvailable)
    return found.leaderId
  }
}
