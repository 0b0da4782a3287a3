import { createMissingTopics } from '../src/cli/kafka/create-topics.ts'
import { loadSettings, type Settings } from '../src/config/index.ts'
import { fill, type Kinds, openProducer } from './load.ts'
import type { Place } from './place.ts'

/** The names of one run's topics and group. */
export interface Topics {
  urgent: string
  commands: string
  results: string
  doubts: string
  later: string
  statuses: string
  deadLetters: string
}

/** Makes topics for the benchmark. A backlog on a topic can be read again by the next group. */
export class TopicMaker {
  readonly #place: Place
  readonly #name = `bench-${Date.now().toString(36)}`
  readonly #filled = new Map<string, Promise<void>>()
  #runs = 0

  constructor(place: Place) {
    this.#place = place
  }

  /** @param fillWith number of commands to append before the worker starts */
  async make(partitions: number, kinds: Kinds, fillWith: number): Promise<Topics> {
    const run = `${this.#name}-${++this.#runs}`
    const source = fillWith > 0 ? `${this.#name}-${partitions}-${kinds}-${fillWith}` : run
    const topics: Topics = {
      urgent: `${run}-urgent`,
      commands: `${source}-commands`,
      results: `${run}-results`,
      doubts: `${run}-doubts`,
      later: `${run}-later`,
      statuses: `${run}-statuses`,
      deadLetters: `${run}-dead-letters`,
    }
    const settings = this.settings(topics)
    await createMissingTopics(
      settings,
      Object.values(topics).map(topic => ({
        ...{ topic, partitions },
        ...(topic === topics.later && { config: { 'cleanup.policy': 'compact' } }),
      })),
    )
    if (fillWith > 0) {
      await this.#fill(source, async () => {
        const producer = await openProducer(settings, kinds)
        await fill(producer, fillWith, kinds)
        await producer.close()
      })
    }
    return topics
  }

  settings(topics: Topics): Settings {
    return loadSettings({ env: this.env(topics) })
  }

  env({ urgent, commands, results, doubts, later, statuses, deadLetters }: Topics): Record<string, string> {
    const { brokers, registryUrl } = this.#place
    return {
      BUSGATE_KAFKA_BROKERS: brokers.join(),
      BUSGATE_REGISTRY_URL: registryUrl,
      BUSGATE_KAFKA_GROUP_ID: results,
      BUSGATE_TOPICS_COMMANDS: `${urgent},${commands}`,
      BUSGATE_TOPICS_RESULTS: results,
      BUSGATE_TOPICS_DOUBTS: doubts,
      BUSGATE_TOPICS_LATER: later,
      BUSGATE_TOPICS_STATUSES: statuses,
      BUSGATE_TOPICS_DEAD_LETTERS: deadLetters,
    }
  }

  #fill(source: string, fill: () => Promise<void>): Promise<void> {
    const filled = this.#filled.get(source) ?? fill()
    this.#filled.set(source, filled)
    return filled
  }
}
