import { parseArgs } from 'node:util'
import { runFaults } from './run-faults.ts'
import { moves, runMoves } from './run-moves.ts'
import { runVerdicts } from './run-verdicts.ts'
import type { Outcome } from './stage.ts'

/**
 * Processes of busgate on a real Kafka under load, in trouble of one kind or another. Then the topics and the gateway
 * are counted. Without a kind of trouble: workers, brokers and gateway in every sort of it.
 */
const { values } = parseArgs({
  options: {
    commands: { type: 'string', default: '20000' },
    brokers: { type: 'string', default: '1' },
    /** Commands a second; trouble is made while they come. */
    rate: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Leaves the brokers alone. */
    'calm-brokers': { type: 'boolean', default: false },
    /** A restart of every broker in turn. */
    rolling: { type: 'boolean', default: false },
    /** A restart of every worker in turn. */
    'restart-workers': { type: 'boolean', default: false },
    /** One worker, three, and one again. */
    scale: { type: 'boolean', default: false },
    /** Callbacks that are dropped, late and repeated, and a reconciler. */
    verdicts: { type: 'boolean', default: false },
    /** With verdicts: reconcilers and a worker are killed. */
    kill: { type: 'boolean', default: false },
  },
})
const started = performance.now()
const say = (line: string) => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`)

const { figures, broken } = await run()
for (const table of figures) console.table(table)
say(broken.length === 0 ? 'every promise was kept' : `BROKEN: ${broken.join(', ')}`)
process.exit(broken.length === 0 ? 0 : 1)

function run(): Promise<Outcome> {
  const commands = Number(values.commands)
  const rate = Number(values.rate)
  const nodes = values.brokers === '3' ? 3 : 1
  const options = { commands, rate, nodes, seed: Number(values.seed), say } as const
  say(`${commands} commands at ${rate}/s`)
  if (values['restart-workers']) return runMoves(options, moves['restart-workers'])
  if (values.scale) return runMoves(options, moves.scale)
  if (values.verdicts) return runVerdicts({ ...options, kill: values.kill })
  return runFaults({ ...options, calmBrokers: values['calm-brokers'], rolling: values.rolling })
}
