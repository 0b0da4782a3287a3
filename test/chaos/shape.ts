import { setTimeout as pause } from 'node:timers/promises'
import { startSandbox } from '../../src/sandbox/index.ts'
import { Random } from '../simulation/random.ts'
import { plainKafka } from '../support/kafka.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import {
  addPartitions,
  type Change,
  deleteDoubts,
  deleteGroup,
  deleteInFlight,
  deletePerhapsSent,
  deleteReconcilerGroup,
  deleteUnread,
  loseSchemas,
  passRetention,
  remakeDoubts,
  remakeLater,
  remakeStatuses,
  resetOffsets,
  type ShapeScene,
  shop,
  startOutsider,
  startReceiver,
  updateSettings,
} from './changes.ts'
import { kill } from './faults.ts'
import type { Load } from './load.ts'
import { between, latencyMs, oneOf, type Scenario, type Scene } from './scene.ts'

/** Workers may be killed during these. */
const underKills: readonly Change[] = [
  ...[addPartitions, addPartitions, addPartitions, addPartitions, remakeStatuses, deleteReconcilerGroup],
  ...[loseSchemas, passRetention, deleteInFlight, deleteDoubts],
]
/** These stop, replace or kill workers themselves, or count what a living worker tells. */
const betweenKills: readonly Change[] = [
  ...[resetOffsets, deleteGroup, remakeDoubts, remakeLater, updateSettings, updateSettings, startOutsider],
  ...[deleteUnread, deletePerhapsSent],
]

/** Faults after which the gateway has executed a request whose answer is lost. */
const lostAnswers = ['reset-after', 'http-502-executed', 'truncated-json', 'stall'] as const
const storiesAtOnce = 5
/** How long some commands wait for their time: changes meet them on their table, and as copies. */
const leastWaitMs = 5000
const mostWaitMs = 60_000

/**
 * Topics, group, settings and registry change their shape, in the order that the seed draws, while workers are killed and
 * the gateway loses answers. What was lost on purpose must be told, exactly.
 */
export const shape: Scenario = {
  latencyMs,
  forbidden: ['executedTwiceUnderAtLeastOnce', 'workersRestartedThemselves'],
  isWitnessed: true,
  starts: 0,
  sandbox: {
    keys: { default: 'sandbox-key', [shop.name]: shop.key },
    callbackTrouble: { drop: 0.1 },
  },
  env: {
    BUSGATE_KAFKA_START_FROM: 'earliest', // the group is deleted
    BUSGATE_GATEWAY_ALLOW_EMPTY: 'true',
    BUSGATE_RECONCILER_EXPECT_MS: '5000',
    BUSGATE_RECONCILER_EXPECT_HLR: '2000', // the shortest is how late it reads
    BUSGATE_CALLBACKS_SECRET: 'k1:secret-of-the-chaos',
  },
  vary: index => ({
    lane: index % 7 === 0 ? 0 : 1,
    isEmpty: index % 11 === 0,
    ...(index % 13 === 0 && { notBefore: new Date(Date.now() + leastWaitMs + ((index * 7919) % mostWaitMs)) }),
  }),
  async play(scene, load) {
    const { fleet, workers, sandbox } = scene
    const [port] = await freePorts(1)
    fleet.settings.BUSGATE_CALLBACKS_PUBLIC_URL = `http://127.0.0.1:${port}`
    const receiver = await startReceiver(scene)
    await fleet.fill(workers)
    const admin = plainKafka(scene.kafka.brokers).admin()
    const [otherGateway] = await Promise.all([startSandbox(), admin.connect()])
    try {
      const shapeScene = { ...scene, load, admin, otherGateway, receiver, witness: scene.witness! }
      const [made] = await Promise.all([changeShapes(shapeScene), loseAnswers(apart(scene), load)])
      sandbox.faults.clear()
      await fleet.fill(workers)
      return made
    } finally {
      await Promise.all([otherGateway.close(), admin.disconnect()])
    }
  },
}

/** One change after the other until all commands are produced. @returns how many */
async function changeShapes(scene: ShapeScene): Promise<number> {
  const { load, fleet, workers } = scene
  let made = 0
  for (let left: Change[] = []; !load.isOver; made++) {
    if (left.length === 0) left = [...underKills, ...betweenKills]
    const [change] = left.splice(Math.floor(scene.random() * left.length), 1) as [Change]
    if (scene.random() < 0.5) await change(scene)
    else if (underKills.includes(change)) await Promise.all([change(scene), killSoon(apart(scene))])
    else {
      await kill(scene)
      await change(scene)
    }
    await askForStories(scene)
    while (fleet.members.size < workers) fleet.start()
    await pause(between(scene, 200, 2000))
  }
  return made
}

/** Draws from random numbers of its own, so that the order of the others does not depend on time. */
function apart(scene: Scene): Scene {
  const chance = new Random(Math.floor(scene.random() * 2 ** 32))
  return { ...scene, random: () => chance.next() }
}

async function killSoon(scene: Scene): Promise<void> {
  await pause(between(scene, 0, 3000))
  await kill(scene)
}

/** Asks about messages that were produced lately, and about any. */
async function askForStories({ random, load, witness }: ShapeScene): Promise<void> {
  const produced = Math.max(0, load.produced - 1)
  for (let i = 0; i < storiesAtOnce; i++) {
    await witness.stories.ask(Math.floor(random() * produced))
    await witness.stories.ask(Math.max(0, produced - Math.floor(random() * 100)))
  }
}

async function loseAnswers(scene: Scene, load: Load): Promise<void> {
  let executed = 0
  while (!load.isOver) {
    const now = scene.sandbox.stats().executed
    // while nobody sends, faults would only keep workers from proving the gateway
    if (now > executed) scene.sandbox.faults.next(oneOf(scene, lostAnswers))
    executed = now
    await pause(between(scene, 500, 3000))
  }
}
