import { parseArgs } from 'node:util'
import { measureCallbacks } from './callbacks.ts'
import { measureThroughput } from './throughput.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    commands: { type: 'string', default: '200000' },
    concurrency: { type: 'string', default: '32' },
    partitions: { type: 'string', default: '4' },
    latency: { type: 'string', default: '20' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '20' },
    connections: { type: 'string', default: '64' },
  },
})

const benchmarks: Record<string, () => Promise<object>> = {
  throughput: () =>
    measureThroughput({
      commands: Number(values.commands),
      concurrency: Number(values.concurrency),
      partitions: Number(values.partitions),
      gatewayLatencyMs: Number(values.latency),
    }),
  callbacks: () =>
    measureCallbacks({
      rate: Number(values.rate),
      seconds: Number(values.seconds),
      connections: Number(values.connections),
      partitions: Number(values.partitions),
    }),
}

const [name = 'throughput'] = positionals
const benchmark = benchmarks[name]
if (!benchmark) throw new Error(`no benchmark ${name}: there are ${Object.keys(benchmarks).join(', ')}`)
console.table(await benchmark())
