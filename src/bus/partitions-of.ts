import type { Bus } from './port.ts'

/**
 * Number of partitions of each topic that a role needs.
 * @throws Error that names the topics which do not exist, or may not be seen
 */
export async function partitionsOf(
  bus: Pick<Bus, 'partitions'>,
  topics: readonly string[],
): Promise<Map<string, number>> {
  const partitions = await bus.partitions(topics)
  const missing = topics.filter(topic => !partitions.has(topic))
  if (missing.length > 0) {
    throw new Error(
      `missing on the bus: ${missing.join(', ')}; busgate topics create makes them, unless the topics.* settings should ` +
        'name others, or this client wants the right Describe to see them',
    )
  }
  return partitions
}
