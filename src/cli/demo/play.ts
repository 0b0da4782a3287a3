import { setTimeout } from 'node:timers/promises'
import { missingStatuses } from './audit.ts'
import type { ProgressDisplay } from './progress.ts'
import { commandOf, silentOf } from './scenario.ts'
import type { RunningDemo } from './stage.ts'
import { grouped, listOf } from './summary.ts'

export interface PlayOptions {
  /** How many commands. */
  total: number
  /** Loses an answer, and half-way kills the worker and starts another. */
  kill: boolean
}

const batchSize = 500
const pollMs = 20
/** Longer than a group needs to do without a killed member. */
const stalledMs = 30_000
/** A second result of a command would follow its first within this time. */
const quietMs = 1000

/** Produces the commands and waits until all that they lead to is on the topics, or nothing comes any more. */
export async function play(stage: RunningDemo, { total, kill }: PlayOptions, progress: ProgressDisplay): Promise<void> {
  const { audit, sandbox } = stage
  let produced = 0
  progress.show(() => [
    `commands ${grouped(produced)} in`,
    `envelopes ${grouped(sandbox.stats().requests)} to the gateway`,
    `results ${listOf(audit.results)}`,
    `statuses ${listOf(audit.statuses)}`,
  ])

  async function produce(): Promise<void> {
    while (produced < total) {
      const size = Math.min(batchSize, total - produced)
      await stage.producer.send(Array.from({ length: size }, (_, i) => commandOf(produced + i)))
      produced += size
    }
  }

  async function story(): Promise<void> {
    await Promise.all([produce(), kill && disturb(stage, total, progress)])
    while (!isComplete(stage, total)) await setTimeout(pollMs)
  }

  const movement = () => produced + sandbox.stats().requests + sandbox.stats().callbacks.sent + audit.lastAt
  await Promise.race([story(), stage.failed, untilStalled(movement)])
  while (performance.now() - audit.lastAt < quietMs) await setTimeout(pollMs)
  progress.stop()
}

/** An answer is lost at a quarter of the way; at half of it the worker is killed. */
async function disturb(stage: RunningDemo, total: number, progress: ProgressDisplay): Promise<void> {
  const executed = async (share: number) => {
    while (stage.sandbox.stats().executed < total * share) await setTimeout(pollMs)
  }
  await executed(1 / 4)
  stage.sandbox.faults.next('reset-after')
  progress.say('One answer of the gateway is lost.')
  await executed(1 / 2)
  progress.say('The worker is killed (kill -9) and restarted; it gets its partitions back within seconds.')
  await stage.replaceWorker()
}

function isComplete({ audit, sandbox }: RunningDemo, total: number): boolean {
  if (audit.finished < total || sandbox.stats().callbacks.pending > 0) return false
  return missingStatuses(total, audit, sandbox) === 0
}

async function untilStalled(movement: () => number): Promise<void> {
  let last = movement()
  let since = performance.now()
  while (performance.now() - since < stalledMs) {
    await setTimeout(pollMs, undefined, { ref: false })
    if (movement() === last) continue
    last = movement()
    since = performance.now()
  }
}

const turnMs = 500
/** Turns after which another answer of the gateway is lost. */
const lossTurns = 40

/**
 * Gives whoever looks around something to see once the table is there: some commands a second, now and then an answer
 * that is lost (and no callback tells what became of its message), and a record that nobody can read. Resolves when it is interrupted; what fails is in the worker's log.
 */
export async function goOn(stage: RunningDemo, first: number, interrupted: AbortSignal): Promise<void> {
  try {
    await writeNonsense(stage)
    let next = first
    for (let turn = 0; ; turn++) {
      const isLost = turn % lossTurns === 0
      if (isLost) stage.sandbox.faults.next('reset-after')
      const size = isLost ? 1 : 1 + (turn % 5)
      await stage.producer.send(Array.from({ length: size }, (_, i) => (isLost ? silentOf(next) : commandOf(next + i))))
      next += size
      await setTimeout(turnMs, undefined, { signal: interrupted })
    }
  } catch {
    // interrupted, or the bus is gone: both end it
  }
}

/** Puts a record on the bus that becomes a dead letter. */
async function writeNonsense({ bus, demo: { settings } }: RunningDemo): Promise<void> {
  const publisher = await bus.publisher()
  const topic = settings.topics.commands.at(-1)!
  await publisher.publish([{ topic, key: Buffer.from('order-0'), value: Buffer.from('{"id": "this is no Avro"}') }])
  await publisher.close()
}
