import { setTimeout } from 'node:timers/promises'
import { openBus } from '../src/bus/open.ts'
import { Telemetry } from '../src/telemetry/events.ts'
import { startBenchGateway } from './gateway.ts'
import { feed } from './load.ts'
import { Outside } from './outside.ts'
import type { Place } from './place.ts'
import { cpuMicrosOf, type Processes } from './processes.ts'
import type { Program, Running } from './program.ts'
import type { Ranks } from './ranks.ts'
import type { Load, Scenario } from './scenarios.ts'
import type { TopicMaker } from './topics.ts'

/** The figures of one run of one program. A scenario does not have all of them. */
export interface Figures {
  /** Commands a second, from the first POST (or first result, if the gateway is the user's) to the last result. */
  commandsPerSecond?: number
  /** Commands a second in each tenth of the commands. */
  tenths?: readonly number[]
  /** User and system time of all processes per command, including their start. */
  cpuMicrosWithStart?: number
  /** CPU time per command from the first POST to the 200,000th or last result: code is still being compiled. */
  cpuMicrosFirst?: number
  /** CPU time per command in the second half. */
  cpuMicrosSteady?: number
  /** Bytes allocated on V8's heap per command in the second half. Absent if the program does not report it. */
  garbageSteady?: number
  /** The broker's CPU time per command, from the first POST to the last result. Absent if it runs elsewhere. */
  brokerMicros?: number
  /** Share of one core, at a steady rate. */
  core?: number
  brokerCore?: number
  /** Committed transactions a second. */
  commitsPerSecond?: number
  /** Milliseconds. */
  appendToPost?: Ranks
  answerToReadable?: Ranks
  /** The time from the start of the process to its first POST. */
  firstPostSeconds?: number
  peakMemoryMiB: number
  /** Open sockets of all processes at the end. */
  sockets: number
  /** The number of ids that the gateway received twice. */
  repeated: number
}

export interface MeasureOptions {
  place: Place
  topics: TopicMaker
  scenario: Scenario
  program: Program
  /** The address of the user's gateway, whose counts are unknown; null: the benchmark's own. */
  gatewayUrl: string | null
}

interface Stage extends Omit<MeasureOptions, 'program' | 'gatewayUrl'> {
  outside: Outside
  running: Running
  settings: ReturnType<TopicMaker['settings']>
}

const lookMs = 10
const first = 200_000
/** The time-out of a job: time to start, and time for its commands. */
const patienceMs = (commands: number) => 300_000 + commands / 5

/** Runs one program on one job, in processes of its own. */
export async function measure(options: MeasureOptions): Promise<Figures> {
  const { scenario, topics, place, program } = options
  const { load, partitions, kinds, latencyMs } = scenario
  const names = await topics.make(partitions, kinds, backlogOf(load))
  const settings = topics.settings(names)
  const outside = new Outside()
  if ('commands' in load) outside.expect(load.commands)
  const gateway = await startBenchGateway({
    latencyMs,
    posted: ids => outside.post(ids),
    answered: ids => outside.answer(ids),
  })
  const bus = await openBus(settings, new Telemetry())
  const reader = await bus.read([names.results], 'earliest', (_from, records) => {
    outside.read(records.map(({ key }) => Number(key)))
  })
  const running = await program.start({
    scenario,
    gatewayUrl: options.gatewayUrl ?? gateway.url,
    place,
    topics: names,
    env: topics.env(names),
  })
  const stage = { ...options, outside, running, settings }
  try {
    const figures = await ('commands' in load ? drain(stage, load.commands) : keepUp(stage))
    return { ...figures, ...resources(running.processes), repeated: outside.repeated }
  } finally {
    await running.processes.stop()
    await reader.close()
    await bus.close()
    await gateway.close()
  }
}

const backlogOf = (load: Load) => ('commands' in load ? load.commands : 'behind' in load ? load.behind : 0)

const resources = (processes: Processes) => ({
  peakMemoryMiB: Math.round(processes.peakMemoryMiB()),
  sockets: processes.sockets(),
})

/** Measures the rate and cost of a backlog. */
async function drain({ outside, place, running: { processes } }: Stage, commands: number) {
  const lookAt = async (reached: () => boolean) => {
    await until(reached, processes, commands)
    return {
      readable: outside.readable,
      cpu: processes.cpuMicros(),
      garbage: processes.garbageBytes(),
      brokerCpu: cpuMicrosOf(place.brokerPids),
    }
  }
  type Look = Awaited<ReturnType<typeof lookAt>>
  const lookWhenReadable = (count: number) => lookAt(() => outside.readable >= count)
  const [begun, early, half, end] = await Promise.all([
    lookAt(() => !Number.isNaN(outside.begunAt)),
    lookWhenReadable(Math.min(first, commands)),
    lookWhenReadable(commands / 2),
    lookWhenReadable(commands),
  ])
  const between = (from: Look, to: Look, of: 'cpu' | 'garbage' = 'cpu') =>
    (to[of] - from[of]) / (to.readable - from.readable)
  return {
    commandsPerSecond: Math.round(commands / ((outside.lastReadableAt - outside.begunAt) / 1000)),
    tenths: outside.tenths,
    cpuMicrosWithStart: end.cpu / commands,
    cpuMicrosFirst: between(begun, early),
    cpuMicrosSteady: between(half, end),
    ...(end.garbage > 0 && { garbageSteady: between(half, end, 'garbage') }),
    ...(place.brokerPids.length > 0 && { brokerMicros: (end.brokerCpu - begun.brokerCpu) / commands }),
    firstPostSeconds: (outside.begunAt - processes.startedAt) / 1000,
  }
}

/** Measures cost and waiting time at a steady rate. */
async function keepUp(stage: Stage) {
  const { scenario, settings, outside, place, running } = stage
  const { load, kinds } = scenario
  const { processes } = running
  const urgent = 'urgentRate' in load
  const rate = 'urgentRate' in load ? load.urgentRate : 'rate' in load ? load.rate : 0
  const seconds = 'seconds' in load ? load.seconds : 0
  if (urgent) await until(() => outside.readable > 0, processes)
  const feeding = rate > 0 ? await feed(settings, { rate, kinds, urgent, outside }) : null
  if ('warmUpSeconds' in load) await setTimeout(load.warmUpSeconds * 1000)
  outside.latencies()
  const look = async () => ({
    at: performance.now(),
    cpu: processes.cpuMicros(),
    brokerCpu: cpuMicrosOf(place.brokerPids),
    commits: await running.commits(),
  })
  const before = await look()
  const isOver = () => performance.now() - before.at >= seconds * 1000
  // without a backlog in front of them, urgent commands would seem faster than they are
  const isAlone = () => 'behind' in load && outside.readable >= load.behind
  while (!isOver() && !isAlone()) {
    processes.check()
    await setTimeout(lookMs)
  }
  const after = await look()
  await feeding?.stop()
  processes.check()
  const ms = after.at - before.at
  const { appendToPost, answerToReadable } = outside.latencies()
  return {
    ...(!urgent && { core: (after.cpu - before.cpu) / 1000 / ms }),
    ...(place.brokerPids.length > 0 && !urgent && { brokerCore: (after.brokerCpu - before.brokerCpu) / 1000 / ms }),
    ...(after.commits !== null && { commitsPerSecond: ((after.commits - before.commits!) / ms) * 1000 }),
    ...(appendToPost && { appendToPost }),
    ...(answerToReadable && { answerToReadable }),
  }
}

async function until(condition: () => boolean, processes: Processes, commands = 0): Promise<void> {
  const started = performance.now()
  while (!condition()) {
    processes.check()
    if (performance.now() - started > patienceMs(commands)) throw new Error('the program did not finish in time')
    await setTimeout(lookMs)
  }
}
