import { setTimeout } from 'node:timers/promises'
import { Brokers } from '../../bus/wire/brokers.ts'
import { offsetFetch } from '../../bus/wire/offset-apis.ts'
import { initProducerId } from '../../bus/wire/transaction-apis.ts'
import { systemClock } from '../../clock.ts'
import { Telemetry } from '../../telemetry/events.ts'
import type { Child } from './child.ts'

const patience = 60_000

/** Asks until the answer is yes, the child has ended or a minute is over. */
export async function untilReady(name: string, ready: () => Promise<boolean>, child?: Child): Promise<void> {
  const deadline = Date.now() + patience
  let cause: unknown
  const asked = () =>
    ready().catch((error: unknown) => {
      cause = error
      return false
    })
  while (!(await asked())) {
    if (child && !child.running()) throw notStarted(`${name} ${(await child.ended).how}`, cause, child)
    if (Date.now() > deadline) throw notStarted(`${name} did not answer within ${patience / 1000} s`, cause, child)
    await setTimeout(50)
  }
}

function notStarted(what: string, cause: unknown, child?: Child): Error {
  const advice = 'A port in use, too little memory and a JVM older than 17 are the usual reasons.'
  const log = child ? ` The last lines of its log:\n${child.tail()}` : ''
  return new Error(`${what}. ${advice}${log}`, { cause })
}

async function asking<T>(seeds: readonly string[], ask: (brokers: Brokers) => Promise<T>): Promise<T> {
  const brokers = new Brokers({ clientId: 'warm-up', seeds, clock: systemClock, telemetry: new Telemetry() })
  try {
    return await ask(brokers)
  } finally {
    await brokers.close()
  }
}

/** The ids of the nodes that are up, as the node at this address sees them. */
export function nodesSeenFrom(address: string): Promise<readonly number[]> {
  return asking([address], async brokers => {
    await brokers.refresh()
    return brokers.nodes()
  })
}

/**
 * Has the cluster make its internal topics, so that the first transaction and the first group do not meet
 * COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
 */
export async function warmUp(seeds: string[]): Promise<void> {
  const name = 'warm-up'
  await asking(seeds, async brokers => {
    await Promise.all([
      untilReady("Kafka's transaction coordinator", async () => {
        await brokers.ask({ transaction: name }, initProducerId, {
          transactionalId: name,
          transactionTimeoutMs: 10_000,
          from: null,
        })
        return true
      }),
      untilReady("Kafka's group coordinator", async () => {
        await brokers.ask({ group: name }, offsetFetch, { groupId: name, tps: [] })
        return true
      }),
    ])
  })
}
