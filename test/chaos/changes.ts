import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Admin } from 'kafkajs'
import { allPartitions, partitionsOf } from '../../src/bus/partitions.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import { IN_DOUBT, INTENT } from '../../src/bus/session/window.ts'
import { createMissingTopics } from '../../src/cli/kafka/create-topics.ts'
import { readProgress } from '../../src/inspect/progress.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { javaCommand, kafkaClassPath } from '../support/local-kafka/maven.ts'
import type { Member } from './fleet.ts'
import type { Load } from './load.ts'
import { between, oneOf, type Scene } from './scene.ts'
import type { Witness } from './witness.ts'

/** What changes of shape act on. */
export interface ShapeScene extends Scene {
  admin: Admin
  load: Load
  witness: Witness
  /** The gateway of another installation. */
  otherGateway: Sandbox
  /** The receiver of callbacks, which also runs the reconciler. */
  receiver: Member
}

/** Changes a topic, the group, the settings or the registry, and resolves when workers work again. */
export type Change = (scene: ShapeScene) => Promise<void>

/** An account that no worker knows at the start. */
export const shop = { name: 'shop', key: 'shop-key' }

const patienceMs = 60_000
/** Longer than a worker waits before it tells that the topic of doubts is another one. */
const lostDoubtsMs = 13_000
/** The same for the topic of commands that wait. */
const lostLaterMs = 15_000
/** Longer than the clocks of two processes differ. */
const skewMs = 20_000

/** Adds partitions to a topic while commands are in doubt. */
export const addPartitions: Change = async scene => {
  const { commands, control: _, ...others } = scene.stage.settings.topics
  const topic = oneOf(scene, [...commands, ...Object.values(others)])
  await openDoubts(scene)
  const count = (await partitionsIn(scene, topic)).length + Math.ceil(between(scene, 0, 4))
  scene.say(`${topic} gets ${count} partitions`)
  await scene.admin.createPartitions({ topicPartitions: [{ topic, count }] })
}

/** Resets the group's offsets with Kafka's own tool, as docs/delivery.md says. */
export const resetOffsets: Change = scene =>
  whileStopped(scene, async () => {
    const { groupId } = scene.stage.settings.kafka
    scene.say(`the offsets of ${groupId} are reset`)
    await promisify(execFile)(javaCommand(), [
      ...['-cp', await kafkaClassPath(() => {}), 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'],
      ...['--bootstrap-server', scene.kafka.brokers.join(), '--group', groupId],
      ...['--all-topics', '--reset-offsets', '--to-earliest', '--execute'],
    ])
  })

/** Deletes the group, and its offsets with it. */
export const deleteGroup: Change = scene =>
  whileStopped(scene, async () => {
    const { groupId } = scene.stage.settings.kafka
    scene.say(`the group ${groupId} is deleted`)
    await scene.admin.deleteGroups([groupId])
  })

/** Deletes the reconciler's group: the next reconciler begins anew, and must not poll for verdicts that came. */
export const deleteReconcilerGroup: Change = async scene => {
  const { admin, stage, say } = scene
  await scene.receiver.leave()
  const group = `${stage.settings.kafka.groupId}-reconciler`
  say(`the group ${group} is deleted`)
  await admin.deleteGroups([group])
  scene.receiver = await startReceiver(scene)
}

/** Deletes the topic of doubts with what is in doubt, and creates it anew. */
export const remakeDoubts: Change = async scene => {
  await untilSettled(scene)
  await openDoubts(scene)
  await remake(scene, scene.stage.settings.topics.doubts)
  await pause(lostDoubtsMs)
}

/** Deletes the table of commands that wait, and creates it anew: its living owners tell of each of them. */
export const remakeLater: Change = async scene => {
  await untilSettled(scene)
  await remake(scene, scene.stage.settings.topics.later)
  await pause(lostLaterMs)
}

/** Deletes the topic of statuses while callbacks may prove doubts, and creates it anew. */
export const remakeStatuses: Change = async scene => {
  await openDoubts(scene)
  await remake(scene, scene.stage.settings.topics.statuses)
}

/** Replaces one worker after the other: old and new settings work side by side. */
export const updateSettings: Change = async scene => {
  const { fleet, say, load } = scene
  const settings = oneOf(scene, [toggleEmpty, changeTimes, addShop])(scene)
  say(`rolling update: ${JSON.stringify(settings)}`)
  Object.assign(fleet.settings, settings)
  if ('BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY' in settings) load.accounts = ['default', 'default', shop.name]
  for (const old of [...fleet.members]) {
    await fleet.fill(fleet.members.size + 1)
    await old.leave()
  }
}

const toggleEmpty = ({ fleet }: Scene): Record<string, string> => ({
  BUSGATE_GATEWAY_ALLOW_EMPTY: String(fleet.settings.BUSGATE_GATEWAY_ALLOW_EMPTY === 'false'),
})
const changeTimes = (scene: Scene): Record<string, string> => ({
  BUSGATE_GATEWAY_TIMEOUT_MS: String(Math.round(between(scene, 1500, 3000))),
  BUSGATE_DOUBTS_WAIT_MS: String(Math.round(between(scene, 4000, 8000))),
})
const addShop = (): Record<string, string> => ({ BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: shop.key })

/** Starts a process of another installation in the group: it must stay outside and do nothing. */
export const startOutsider: Change = async scene => {
  const { fleet, stage, otherGateway, say } = scene
  const otherResults = `${stage.settings.topics.results}.other`
  await createMissingTopics(stage.settings, [{ topic: otherResults, partitions: 1 }])
  await untilSettled(scene)
  const settings = oneOf<Record<string, string>>(scene, [
    { BUSGATE_TOPICS_RESULTS: otherResults },
    { BUSGATE_GATEWAY_URL: otherGateway.url },
  ])
  const outsider = fleet.startBeside('outsider', settings)
  say(`${outsider.name} joins with ${JSON.stringify(settings)}`)
  await until('the outsider is kept out', () => outsider.log().includes('processes of another installation'))
  fleet.start() // a rebalance
  await pause(8000)
  const wrong = [
    ...((await outsider.isReady()) ? ['is ready'] : []),
    ...(outsider.log().includes('"session.opened"') ? ['owns partitions'] : []),
    ...(otherGateway.stats().executed > 0 ? ['sends commands'] : []),
  ]
  if (wrong.length > 0) throw new Error(`${outsider.name}, of another installation, ${wrong.join(', ')}`)
  await outsider.leave()
}

/** The registry loses all schema ids for a while. New processes have to ask for them. */
export const loseSchemas: Change = async scene => {
  const { fleet, workers, stage, say } = scene
  const ms = oneOf(scene, [5000, 15_000])
  say(`the registry knows no schema id until ${ms} ms after a new worker began`)
  stage.registryProxy.answer = ({ path }) =>
    path.startsWith('/schemas/ids/') ? { status: 404, body: '{"error_code":40403,"message":"not found"}' } : undefined
  const [old] = fleet.members
  const successor = fleet.start()
  await old?.kill()
  await Promise.race([successor.works().catch(() => {}), pause(patienceMs / 2)]) // it may be killed meanwhile
  await pause(ms)
  stage.registryProxy.answer = () => undefined
  await fleet.fill(workers)
}

/**
 * Deletes what is older than some seconds, as retention does: results outlast their commands, and statuses results and overdue
 * messages. Doubts outlast all of them: on a quiet topic, segments are kept for longer.
 */
export const passRetention: Change = async scene => {
  const { commands, results, statuses, overdue } = scene.stage.settings.topics
  const time = Math.round(Date.now() - between(scene, 10_000, 30_000))
  scene.say(`retention passes until ${new Date(time).toISOString()}`)
  for (const topic of commands) await deleteUntil(scene, topic, time)
  for (const topic of [results, overdue]) await deleteUntil(scene, topic, time - skewMs)
  await deleteUntil(scene, statuses, time - 2 * skewMs)
}

/** Deletes commands that nobody has read, because no worker runs. */
export const deleteUnread: Change = scene =>
  whileStopped(scene, async () => {
    await pause(3000)
    await deleteWhole(scene, oneOf(scene, scene.stage.settings.topics.commands))
  })

/** Deletes commands that were perhaps sent: all workers are killed. */
export const deletePerhapsSent: Change = async scene => {
  const { fleet, workers, stage } = scene
  await Promise.all([...fleet.members].map(member => member.kill()))
  await deleteWhole(scene, oneOf(scene, stage.settings.topics.commands))
  await fleet.fill(workers)
}

/** Deletes commands while workers read and send them. */
export const deleteInFlight: Change = scene => deleteWhole(scene, oneOf(scene, scene.stage.settings.topics.commands))

/** Deletes the doubts of a partition. */
export const deleteDoubts: Change = async scene => {
  await openDoubts(scene)
  await deleteWhole(scene, scene.stage.settings.topics.doubts)
}

/** Starts the receiver at the address that the workers' settings have. */
export async function startReceiver({ fleet }: Pick<Scene, 'fleet'>): Promise<Member> {
  const { port } = new URL(fleet.settings.BUSGATE_CALLBACKS_PUBLIC_URL!)
  const receiver = fleet.startBeside('receiver', {
    BUSGATE_ROLES: 'callbacks,reconciler',
    BUSGATE_CALLBACKS_PORT: port,
    BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: shop.key,
  })
  await receiver.ready()
  return receiver
}

/** Lets the gateway lose answers, and waits until commands are in doubt. */
async function openDoubts({ sandbox, witness, load }: ShapeScene): Promise<void> {
  const before = witness.audit.doubted
  sandbox.faults.next('reset-after', 3)
  await until('commands are in doubt', () => witness.audit.doubted > before || load.isOver)
}

async function partitionsIn({ stage: { bus } }: ShapeScene, topic: string): Promise<TopicPartition[]> {
  return allPartitions(topic, (await partitionsOf(bus, [topic])).get(topic)!)
}

/** Waits until the group consists of the living workers, and all of them are ready: nothing is left of those that died. */
async function untilSettled({ fleet, workers, admin, stage }: ShapeScene): Promise<void> {
  const { groupId } = stage.settings.kafka
  await fleet.fill(workers)
  await until('the group consists of the living workers', async () => {
    const { groups } = await admin.describeGroups([groupId])
    return groups[0]!.state === 'Stable' && groups[0]!.members.length === fleet.members.size
  })
  await fleet.fill(workers)
}

/** Stops all workers as planned, acts unless a request of one was lost, and starts as many. */
async function whileStopped(scene: ShapeScene, act: () => Promise<void>): Promise<void> {
  const { fleet, workers, say } = scene
  await untilSettled(scene)
  await Promise.all([...fleet.members].map(member => member.leave()))
  say('no worker runs')
  if (await hasIntents(scene)) say('requests were lost: nothing is changed')
  else await act()
  await fleet.fill(workers)
}

async function hasIntents(scene: ShapeScene): Promise<boolean> {
  const { bus, settings } = scene.stage
  const { commands, doubts } = settings.topics
  const tps = (await Promise.all([...commands, doubts].map(topic => partitionsIn(scene, topic)))).flat()
  const progress = await readProgress(bus, settings, tps)
  return progress.some(one => {
    const { base = 0, length = 0 } = one?.window ?? {}
    return Array.from({ length }, (_, i) => one!.window.get(base + i)).some(
      state => state === INTENT || state === IN_DOUBT,
    )
  })
}

async function remake(scene: ShapeScene, topic: string): Promise<void> {
  const { admin, witness, stage, say } = scene
  const before = await stage.bus.lookAt(topic)
  await witness.catchUp()
  say(`${topic} is deleted and created again`)
  await admin.deleteTopics({ topics: [topic] })
  await pause(between(scene, 0, 4000))
  const numPartitions = before!.partitions
  const configEntries = topic === stage.settings.topics.later ? [{ name: 'cleanup.policy', value: 'compact' }] : []
  const topics = [{ topic, numPartitions, configEntries }]
  await until('the topic is created again', async () => {
    await admin.createTopics({ topics, waitForLeaders: false }).catch(() => {})
    const now = await stage.bus.lookAt(topic)
    return now !== null && now.id !== before!.id && now.leaderless.length === 0
  })
  await witness.reopen(topic)
}

/** Deletes the records of a topic that are older. */
async function deleteUntil(scene: ShapeScene, topic: string, time: number): Promise<void> {
  const starts = await scene.admin.fetchTopicOffsetsByTimestamp(topic, time)
  for (const { partition, offset } of starts) await deleteBefore(scene, { topic, partition }, Number(offset))
}

/** Deletes all records of one partition. */
async function deleteWhole(scene: ShapeScene, topic: string): Promise<void> {
  const { partition, offset } = oneOf(scene, await scene.admin.fetchTopicOffsets(topic))
  scene.say(`${topic}/${partition} loses its records before ${offset}`)
  await deleteBefore(scene, { topic, partition }, Number(offset))
}

async function deleteBefore(scene: ShapeScene, tp: TopicPartition, before: number): Promise<void> {
  const { admin, witness } = scene
  const { topic, partition } = tp
  await witness.noteDeletion(tp, before)
  await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited a minute in vain: ${what}`)
    await pause(100)
  }
}
