import { type Bus, BusUnavailable, type OutgoingRecord, type RecordsHandler } from '../bus/port.ts'
import { type Clock, limited, systemClock } from '../clock.ts'

/** Longer than the two seconds in which workers see a change. */
const readBackMs = 5_000

/**
 * Writes a change, the first of the records, and reads it back as workers do.
 * @throws Error when it is not confirmed, or not read back in time: workers may not see it
 */
export async function writeAndReadBack(
  bus: Pick<Bus, 'read' | 'publisher'>,
  topic: string,
  records: OutgoingRecord[],
  clock: Clock = systemClock,
): Promise<void> {
  const [change] = records
  const seen = Promise.withResolvers<void>()
  const take: RecordsHandler = (_, found) => {
    const isChange = found.some(
      ({ key, value }) => key?.equals(bytesOf(change!.key)) && value?.equals(bytesOf(change!.value)),
    )
    if (isChange) seen.resolve()
  }
  const reader = await bus.read([topic], 'latest', take, 'uncommitted')
  const publisher = await bus.publisher()
  try {
    await publisher.publish(records)
    await limited(clock, readBackMs, seen.promise, () => new BusUnavailable(unseenText(topic)))
  } finally {
    await Promise.all([reader.close(), publisher.close()])
  }
}

const bytesOf = (content: Buffer | string | null) => Buffer.from(content ?? '')

function unseenText(topic: string): string {
  return (
    `the change is written, but ${topic} did not give it back within ${readBackMs / 1000} s: workers may not see it. ` +
    'Look at warnings in their /readyz and at busgate status, then repeat the command'
  )
}
