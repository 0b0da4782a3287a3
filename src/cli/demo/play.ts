import { setTimeout } from 'node:timers/promises'
import { grouped, listOf } from './audit.ts'
import { commandOf, silentOf } from './scenario.ts'
import type { RunningDemo } from './stage.ts'

const batchSize = 500
const pollMs = 20
const progressMs = 1000
const stalledMs = 30_000
/** A second result of a command would follow its first within this time. */
const quietMs = 1000

/** Produces the commands and waits until all that they lead to is on the topics, or nothing comes any more. */
export async function play(stage: RunningDemo, total: number, say: (line: string) => void): Promise<void> {
  const { audit, sandbox, producer, worker } = stage
  let produced = 0
  const showProgress = () => {
    const { outcomes, states } = audit.total
    const toGateway = `envelopes ${grouped(sandbox.stats().requests)} to the gateway`
    say(`  commands ${grouped(produced)} in; ${toGateway}; results ${listOf(outcomes)}; statuses ${listOf(states)}`)
  }

  async function produce(): Promise<void> {
    while (produced < total) {
      const size = Math.min(batchSize, total - produced)
      await producer.send(Array.from({ length: size }, (_, i) => commandOf(produced + i)))
      produced += size
    }
  }

  async function untilComplete(): Promise<void> {
    let last = audit.lastAt
    while (
      audit.finished < total ||
      sandbox.stats().callbacks.pending > 0 ||
      audit.reckon(sandbox).statuses.missing > 0
    ) {
      last = Math.max(last, audit.lastAt)
      if (performance.now() - last > stalledMs) return
      await setTimeout(pollMs)
    }
  }

  const progress = setInterval(showProgress, progressMs)
  try {
    await Promise.race([Promise.all([produce(), untilComplete()]), worker.failed])
    while (performance.now() - audit.lastAt < quietMs) await setTimeout(pollMs)
    showProgress()
  } finally {
    clearInterval(progress)
  }
}

const turnMs = 500
/** Turns after which another answer of the gateway is lost. */
const lossTurns = 40

/**
 * Gives whoever looks around something to see once the table is there: some commands a second, now and then an answer
 * that is lost (and no callback tells what became of its message), and a record that nobody can read. Resolves when it is
 * interrupted; what fails is in the worker's log.
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
async function writeNonsense({ bus, settings }: RunningDemo): Promise<void> {
  const publisher = await bus.publisher()
  const topic = settings.topics.commands.at(-1)!
  await publisher.publish([{ topic, key: Buffer.from('order-0'), value: Buffer.from('{"id": "this is no Avro"}') }])
  await publisher.close()
}
