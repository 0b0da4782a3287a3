import { parseArgs } from 'node:util'
import { measureThroughput } from './throughput.ts'

const { values } = parseArgs({
  options: {
    commands: { type: 'string', default: '200000' },
    concurrency: { type: 'string', default: '32' },
    partitions: { type: 'string', default: '4' },
    latency: { type: 'string', default: '20' },
  },
})
const figures = await measureThroughput({
  commands: Number(values.commands),
  concurrency: Number(values.concurrency),
  partitions: Number(values.partitions),
  gatewayLatencyMs: Number(values.latency),
})
console.table(figures)
