import { setTimeout } from 'node:timers/promises'
import { commandOf, silentOf } from './scenario.ts'
import type { RunningDemo } from './stage.ts'

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
