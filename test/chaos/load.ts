import { setTimeout as pause } from 'node:timers/promises'
import type { Bus } from '../../src/bus/port.ts'
import { type CommandProducer, createProducer, type NewCommand, type ProducerOptions } from '../../src/producer.ts'
import { startOutsideProducer } from '../support/outside/producer.ts'
import type { RunOptions, Stage } from './stage.ts'

/** The id of the first command; the others follow. The policies alternate, so that every fault meets both. */
const firstId = 20_000_000_000

export const idOf = (index: number): number => firstId + index
export const indexOf = (id: bigint): number => Number(id) - firstId
export const policyOf = (index: number) => (index % 2 === 0 ? 'AT_MOST_ONCE' : 'AT_LEAST_ONCE')

/** What makes a command different from the usual one. */
export type Variation = Pick<NewCommand, 'lane' | 'notBefore'> & { isEmpty?: boolean }

const batchesPerSecond = 20

/** Produces commands at an even rate. After a stall it catches up at once. */
export class Load {
  /** When each command was given to the producer, milliseconds since 1970. */
  readonly producedAt: Float64Array
  /** The number of commands on their topic. */
  produced = 0
  /** The accounts of the commands that are written from now on, in turn. */
  accounts: readonly string[] = ['default']
  readonly #options: RunOptions
  readonly #vary: (index: number) => Variation
  readonly #accounts = new Map<number, string>()

  constructor(options: RunOptions, vary: (index: number) => Variation = () => ({})) {
    this.#options = options
    this.#vary = vary
    this.producedAt = new Float64Array(options.commands)
  }

  /** The account of a command that was produced. */
  accountOf(index: number): string {
    return this.#accounts.get(index) ?? 'default'
  }

  /** Whether the command waits for its time. */
  waits(index: number): boolean {
    return Boolean(this.#vary(index).notBefore)
  }

  async produce(stage: Stage): Promise<void> {
    const { commands, rate } = this.#options
    const producers = await this.#untilConfirmed(() => this.#producers(stage))
    const started = Date.now()
    const batch = Math.max(1, Math.round(rate / batchesPerSecond))
    for (let from = 0; from < commands; from += batch) {
      await pause(Math.max(0, started + (1000 * from) / rate - Date.now()))
      const to = Math.min(from + batch, commands)
      this.producedAt.fill(Date.now(), from, to)
      const chunk = Array.from({ length: to - from }, (_, i) => this.#command(from + i))
      const producer = producers[(from / batch) % producers.length]!
      await this.#untilConfirmed(() => producer.send(chunk))
      this.produced = to
    }
    for (const producer of producers) await producer.close()
  }

  #command(index: number): NewCommand {
    const account = this.accounts[index % this.accounts.length]!
    this.#accounts.set(index, account)
    return { ...buildSms(index, this.#vary(index)), account }
  }

  /** One in the clear, and one that seals. */
  async #producers(stage: Stage): Promise<CommandProducer[]> {
    const clear = await this.#producer(stage, {})
    return this.#options.sealed ? [clear, await this.#producer(stage, { seal: stage.seal })] : [clear]
  }

  async #producer({ settings, kafka }: Stage, options: Pick<ProducerOptions, 'seal'>): Promise<CommandProducer> {
    const { codec } = this.#options
    if (codec === null) return await createProducer(settings, options)
    const topic = settings.topics.commands.at(-1)!
    const outside = await startOutsideProducer({ brokers: kafka.brokers, topic, codec })
    const publisher = { publish: outside.send, close: outside.close }
    return await createProducer(settings, { ...options, bus: { publisher: async () => publisher } as Bus })
  }

  get isOver(): boolean {
    return this.produced === this.#options.commands
  }

  /** Resolves when this share of all commands is on the topic. */
  async reached(share: number): Promise<void> {
    while (this.produced < share * this.#options.commands) await pause(10)
  }

  /** Repeats a send, or the opening of a producer, until it succeeds. Commands that were written before get a DUPLICATE result. */
  async #untilConfirmed<T>(send: () => Promise<T>): Promise<T> {
    for (let failed = 0; ; failed++) {
      try {
        return await send()
      } catch (error) {
        if (failed === 0) this.#options.say(`producer: ${(error as Error).message}`)
        await pause(500)
      }
    }
  }
}

function buildSms(index: number, { isEmpty, ...variation }: Variation): NewCommand {
  return {
    id: idOf(index),
    phone: 380_670_000_000 + (index % 1000) * 100,
    type: 'sms',
    message: { sms_message: isEmpty ? '' : 'Your order is on its way', sms_signature: 'Shop' },
    delivery: policyOf(index),
    ...variation,
  }
}
