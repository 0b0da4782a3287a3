import { fork } from 'node:child_process'
import { once } from 'node:events'
import { openBus } from '../src/bus/open.ts'
import { createMissingTopics } from '../src/cli/kafka/create-topics.ts'
import { loadSettings } from '../src/config/index.ts'
import { Telemetry } from '../src/telemetry/events.ts'
import type { Place } from './place.ts'
import type { Member, Opened } from './take-over-member.ts'

/** The cost for one process to open all partitions of a topic. */
export interface TakeOverFigures extends Opened {
  partitions: number
  /** Whether the process starts alone, or takes over from one that was killed. */
  how: 'start' | 'take-over'
}

/** Starts a process alone and kills it. The next one joins the group once the session of the first has expired. */
export async function measureTakeOvers(place: Place, sizes = [4, 64, 576]): Promise<TakeOverFigures[]> {
  const figures: TakeOverFigures[] = []
  for (const partitions of sizes) {
    const member = await makeTopic(place, partitions)
    const first = startMember(member)
    figures.push({ partitions, how: 'start', ...(await first.opened) })
    first.kill()
    const second = startMember(member)
    figures.push({ partitions, how: 'take-over', ...(await second.opened) })
    second.kill()
  }
  return figures
}

async function makeTopic({ brokers, registryUrl }: Place, partitions: number): Promise<Member> {
  const topic = `bench-${Date.now().toString(36)}-take-over-${partitions}`
  const env = {
    BUSGATE_KAFKA_BROKERS: brokers.join(),
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_KAFKA_GROUP_ID: topic,
    BUSGATE_KAFKA_START_FROM: 'earliest',
    BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '6000',
  }
  const settings = loadSettings({ env })
  await createMissingTopics(settings, [{ topic, partitions }])
  const bus = await openBus(settings, new Telemetry())
  const reader = await bus.read([topic], 'latest', () => {})
  await reader.caughtUp() // brokers create the logs of a new topic one after the other
  await bus.close()
  return { topic, partitions, env }
}

function startMember(member: Member): { opened: Promise<Opened>; kill(): void } {
  const child = fork('bench/take-over-member.ts', [JSON.stringify(member)])
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process that takes over ended with ${code}`)
  })
  ended.catch(() => {}) // it is always killed in the end
  const opened = once(child, 'message').then(([message]) => message as Opened)
  return { opened: Promise.race([opened, ended]), kill: () => void child.kill('SIGKILL') }
}
