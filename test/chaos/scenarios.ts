import { setTimeout as pause } from 'node:timers/promises'
import type { Span } from '../../src/sandbox/index.ts'
import { outage, standStill, withoutRight } from './faults.ts'
import type { Load } from './load.ts'
import type { Scene } from './scene.ts'
import { coordinatorKilled, cutOff, endingKilled, handedBack, wireTrouble } from './wire-faults.ts'

/** What a run may show after some trouble and not after other. */
export type Excusable = 'everInDoubt' | 'executedTwiceUnderAtLeastOnce' | 'workersRestartedThemselves'

/** One kind of trouble by itself, and what it may not come to. */
export interface Scenario {
  /** Makes the trouble while the load comes. @returns how often */
  play(scene: Scene, load: Load): Promise<number>
  forbidden: readonly Excusable[]
  latencyMs: Span
  /** The gateway executes this share of the requests so late. */
  executesLate?: { share: number; ms: number }
  /** Settings of the processes beside the ones that every run has. */
  env?: Record<string, string>
}

const latencyMs = { min: 5, max: 40 }
/** Requests are in flight and answers known whenever something happens. */
const slow = { min: 50, max: 800 }

/** Every node is stopped in order and started again, one after the other, as an upgrade does it. */
export const rolling: Scenario = {
  latencyMs,
  forbidden: ['everInDoubt'],
  async play({ kafka, nodes, say }) {
    for (let id = 1; id <= nodes; id++) {
      say(`broker ${id}: stop`)
      await kafka.stopNode(id)
      await kafka.startNode(id)
      say(`broker ${id} is back`)
      await pause(5000) // its replicas catch up before the next one goes
    }
    return nodes
  },
}

/** Kafka is away for so long. */
export const outageOf = (ms: number): Scenario => ({
  latencyMs: slow,
  forbidden: ['everInDoubt', 'executedTwiceUnderAtLeastOnce', 'workersRestartedThemselves'],
  async play(scene, load) {
    await load.reached(0.3)
    await outage(ms)(scene)
    return 1
  },
})

/** The network between the processes and Kafka is away for so long. */
export const cutOffFor = (ms: number): Scenario => ({
  latencyMs: slow,
  forbidden: ['executedTwiceUnderAtLeastOnce', 'workersRestartedThemselves'],
  async play(scene, load) {
    await load.reached(0.3)
    await cutOff(ms)(scene)
    return 1
  },
})

/** Each right is taken away once for each of these times. The session time-out is 6 s. */
export const rightsRevoked = (times: readonly number[]): Scenario => ({
  latencyMs: slow,
  forbidden: ['executedTwiceUnderAtLeastOnce', 'workersRestartedThemselves'],
  async play(scene, load) {
    await load.reached(0.1)
    const { names } = scene.rights
    for (const name of names) {
      for (const ms of times) {
        await withoutRight(name, ms)(scene)
        await pause(3000)
      }
    }
    return names.length * times.length
  },
})

const repeated = (fault: typeof wireTrouble, times: number): Scenario => ({
  latencyMs,
  forbidden: ['executedTwiceUnderAtLeastOnce', 'workersRestartedThemselves'],
  async play(scene, load) {
    await load.reached(0.1)
    for (let made = 0; made < times; made++) {
      await fault(scene)
      await pause(5000)
    }
    return times
  },
})

/**
 * Machines are suspended while envelopes wait for a slot, until their partitions have other owners and what was in doubt is
 * sent again; and the gateway executes requests late. Whoever trusts the wrong clock sends twice.
 */
export const suspends = (times: number): Scenario => ({
  latencyMs: slow,
  forbidden: ['executedTwiceUnderAtLeastOnce', 'workersRestartedThemselves'],
  executesLate: { share: 0.05, ms: 4000 }, // gateway.timeoutMs is 2 s, and a doubt is left alone for 8 s
  env: {
    BUSGATE_DELIVERY_NOT_FOUND_ERRORS: 'Message not found',
    BUSGATE_GATEWAY_CONCURRENCY: '4',
    BUSGATE_GATEWAY_MAX_OPERATIONS: '10',
  },
  async play(scene, load) {
    await load.reached(0.1)
    for (let made = 0; made < times; made++) {
      await standStill(scene, 18_000)
      await pause(5000)
    }
    return times
  },
})

/** The coordinator of the group is killed between JoinGroup and SyncGroup. */
export const coordinatorKills = (times: number): Scenario => repeated(coordinatorKilled, times)
/** The coordinator of a transaction is killed while it ends it. */
export const endingKills = (times: number): Scenario => repeated(endingKilled, times)
/** Answers of the group and of transactions are lost, late, or cut off with their connections. */
export const answersLost = (times: number): Scenario => repeated(wireTrouble, times)
/** Partitions go to a process that leaves again, and back to owners that never heard of it. */
export const handBacks = (times: number): Scenario => repeated(handedBack, times)
