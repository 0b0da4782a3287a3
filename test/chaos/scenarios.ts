import { setTimeout as pause } from 'node:timers/promises'
import { outage, pauseProcess, revokeRight } from './faults.ts'
import { later } from './later.ts'
import { type Fault, latencyMs, type Scenario } from './scene.ts'
import { shape } from './shape.ts'
import { cutOff, handBack, killCoordinator, killTransactionCoordinator, loseAnswers } from './wire-faults.ts'

/** Long enough for requests to be in flight whenever a fault comes. */
const slowLatencyMs = { min: 50, max: 800 }
const forbidden = ['executedTwiceUnderAtLeastOnce', 'workersRestartedThemselves'] as const

const repeated = (fault: Fault, times: number, more: Partial<Scenario> = {}): Scenario => ({
  ...{ latencyMs, forbidden },
  async play(scene, load) {
    await load.reached(0.1)
    for (let made = 0; made < times; made++) {
      await fault(scene)
      await pause(5000)
    }
    return times
  },
  ...more,
})

const once = (fault: Fault, more: Partial<Scenario> = {}): Scenario => ({
  ...{ latencyMs: slowLatencyMs, forbidden },
  async play(scene, load) {
    await load.reached(0.3)
    await fault(scene)
    return 1
  },
  ...more,
})

/** On a busy machine the simulated gateway, which shares a process with the audit, answers late. */
const patient = { BUSGATE_GATEWAY_TIMEOUT_MS: '10000' }
const planned = {
  latencyMs,
  forbidden: ['executedTwiceUnderAtLeastOnce', 'everInDoubt'],
  isPlanned: true,
  env: patient,
} as const

/** Scenarios with one kind of fault, by the name of their option. */
export const scenarios = {
  shape,
  /** The brokers are restarted one after the other, as in an upgrade. */
  rolling: {
    latencyMs,
    forbidden: ['everInDoubt'],
    env: patient,
    async play({ kafka, nodes, say }) {
      for (let id = 1; id <= nodes; id++) {
        say(`broker ${id}: stop`)
        await kafka.stopNode(id)
        await kafka.startNode(id)
        say(`broker ${id} is back`)
        await pause(5000) // its replicas catch up before the next one stops
      }
      return nodes
    },
  },
  /** A rolling update: a new process becomes ready, then an old one is told to leave, one after the other. */
  'restart-workers': {
    ...planned,
    async play({ fleet, workers, say }, load) {
      await load.reached(0.2)
      for (const old of [...fleet.members]) {
        await fleet.fill(workers + 1)
        say(`another worker is ready, ${old.name} stops`)
        await old.leave()
        say(`${old.name} has left`)
      }
      return 0
    },
  },
  /** One worker, `--workers` of them, and one again. */
  scale: {
    ...planned,
    starts: 1,
    async play({ fleet, workers, say }, load) {
      await load.reached(0.2)
      await fleet.fill(workers)
      say(`${workers} workers are ready`)
      await load.reached(0.6)
      await Promise.all([...fleet.members].slice(0, workers - 1).map(member => member.leave()))
      say('one worker is left')
      return 0
    },
  },
} satisfies Record<string, Scenario>

/** Scenarios whose option has a value. */
export const scenariosWithValue: Readonly<Record<string, (value: string) => Scenario>> = {
  /** This many of the commands wait for their time, under faults of all kinds, while topics get partitions. */
  later: count => later(Number(count)),
  /** Kafka is unavailable for this many milliseconds. */
  outage: ms => once(outage(Number(ms)), { forbidden: ['everInDoubt', ...forbidden] }),
  /** The processes reach no broker for this many milliseconds. */
  'cut-off': ms => once(cutOff(Number(ms))),
  /** Each right of the processes is revoked for this many milliseconds, once for each value of the list. */
  rights: times => ({
    ...{ latencyMs: slowLatencyMs, forbidden },
    async play(scene, load) {
      await load.reached(0.1)
      const each = scene.rights.names.flatMap(name => times.split(',').map(ms => revokeRight(name, Number(ms))))
      for (const fault of each) {
        await fault(scene)
        await pause(3000) // the session time-out is 6 s
      }
      return each.length
    },
  }),
  /** The group's coordinator is killed between JoinGroup and SyncGroup, this many times. Needs three brokers. */
  coordinator: times => repeated(killCoordinator, Number(times)),
  /** The coordinator of a transaction is killed while it ends it, this many times. Needs three brokers. */
  ending: times => repeated(killTransactionCoordinator, Number(times)),
  /** Answers about the group and transactions are lost, late, or cut off with their connections, this many times. */
  answers: times => repeated(loseAnswers, Number(times)),
  /** Partitions go to a process that leaves again, and back to owners that did not notice, this many times. */
  'hand-back': times => repeated(handBack, Number(times)),
  /**
   * Machines are suspended this many times while envelopes wait for a slot, until their partitions have other owners and doubts
   * are sent again. The gateway executes requests late. A process that trusts the wrong clock sends twice.
   */
  suspends: times =>
    repeated(scene => pauseProcess(scene, 18_000), Number(times), {
      latencyMs: slowLatencyMs,
      executesLate: { share: 0.05, ms: 4000 }, // gateway.timeoutMs is 2 s, and a doubt is polled after 8 s
      env: {
        BUSGATE_GATEWAY_NOT_FOUND_TEXTS: 'Message not found',
        BUSGATE_GATEWAY_CONCURRENCY: '4',
        BUSGATE_GATEWAY_MAX_OPERATIONS: '10',
      },
    }),
}
