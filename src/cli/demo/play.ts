import { setTimeout } from 'node:timers/promises'
import type { ProgressDisplay } from './progress.ts'
import { missingStatuses } from './reckoning.ts'
import { commandOf } from './scenario.ts'
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
    `commands   ${grouped(produced)} in`,
    `envelopes  ${grouped(sandbox.stats().requests)} to the gateway`,
    `results    ${listOf(Object.fromEntries(audit.results))}`,
    `statuses   ${listOf(Object.fromEntries(audit.statuses))}`,
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
  progress.say('The worker is killed (kill -9) and started again; it gets its partitions back in some seconds.')
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
