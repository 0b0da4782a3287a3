import { onTestFinished } from 'vitest'
import type { FetchRequest } from '../../src/bus/read/fetch-api.ts'
import { Fetcher } from '../../src/bus/read/fetcher.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { settled } from './clock.ts'
import { FakeCluster } from './fake-cluster.ts'

/** Builds a fetcher that reads one topic's partitions from a cluster that the test scripts. */
export function buildReadings({ rack }: { rack?: string } = {}) {
  const cluster = new FakeCluster()
  const { clock } = cluster
  const telemetry = new Telemetry()
  const warnings: string[] = []
  telemetry.on('bus.log', ({ message }) => warnings.push(message))
  const closing = new AbortController()
  const fetcher = new Fetcher({ brokers: cluster as never, clock, telemetry, closing: closing.signal, rack })
  const close = () => closing.abort()
  onTestFinished(close)

  function read(partition: number, offset = 0, take?: Reading['take']) {
    const offsets: number[] = []
    /** The high watermarks that it received, without repetitions. */
    const ends: number[] = []
    const gone: Error[] = []
    const reading: Reading = {
      ...{ tp: tpOf(partition), offset, paused: false },
      take(fetched, from) {
        offsets.push(...fetched.records.map(({ offset }) => offset))
        if (ends.at(-1) !== fetched.highWatermark) ends.push(fetched.highWatermark)
        return take?.(fetched, from)
      },
      cut({ low }) {
        reading.offset = low
      },
      gone: error => gone.push(error),
    }
    fetcher.read(reading)
    return { reading, offsets, ends, gone }
  }

  /** Advances the time in steps, and lets promises settle between them. */
  async function pass(ms: number, stepMs = 50): Promise<void> {
    for (let left = ms; left >= 0; left -= stepMs) {
      for (let i = 0; i < 6; i++) await settled()
      await clock.pass(Math.min(left, stepMs))
    }
  }

  /** The Fetch requests to a node, or to all, each with the offset of its first partition. */
  function fetches(node?: number) {
    const all = cluster.of('Fetch').map(({ target, fields, at }) => {
      const [{ rack, waitMs, partitions }] = fields as [FetchRequest]
      const { node } = target as { node: number }
      const numbers = partitions.map(({ tp }) => tp.partition)
      return { node, rack, partitions: numbers, offset: partitions[0]!.offset, at, waitMs }
    })
    return node === undefined ? all : all.filter(one => one.node === node)
  }

  return { cluster, clock, telemetry, warnings, fetcher, read, pass, fetches, close }
}

export const tpOf = (partition: number) => ({ topic: 't', partition })
