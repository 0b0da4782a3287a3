import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { javaCommand, jvmFlags, kafkaClassPath } from '../local-kafka/maven.ts'

export const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Codec = (typeof codecs)[number]

export interface OutsideProducerOptions {
  brokers: readonly string[]
  topic: string
  /** `mixed`: records use the codecs in turn. */
  codec: Codec | 'mixed'
}

export interface OutsideRecord {
  key: Buffer | null
  value: Buffer | null
}

type Answered = PromiseWithResolvers<void>

const source = join(import.meta.dirname, 'OutsideProducer.java')

/**
 * Starts a producer of Kafka's own Java client: acks=all, idempotent, with codecs that no JavaScript client writes. It retries
 * for 15 minutes while the cluster is down.
 */
export async function startOutsideProducer({ brokers, topic, codec }: OutsideProducerOptions) {
  const classPath = await kafkaClassPath(() => {})
  const codecList = codec === 'mixed' ? codecs.join() : codec
  const args = [...jvmFlags, '-cp', classPath, source, brokers.join(), topic, codecList]
  const child = spawn(javaCommand(), args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const waiting = new Map<number, Answered>()
  let count = 0
  let stderr = ''
  let ended = false

  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-4000)
  })
  child.stdin.on('error', () => {}) // 'close' follows
  createInterface(child.stdout).on('line', line => {
    const [number, answer = ''] = line.split('\t')
    const answered = waiting.get(Number(number))
    waiting.delete(Number(number))
    if (answer === 'ok') answered?.resolve()
    else answered?.reject(new Error(`Kafka refused a record of the outside producer: ${answer}`))
  })
  const closed = once(child, 'close').then(() => {
    ended = true
    for (const { reject } of waiting.values()) reject(new Error(`The outside producer has ended. ${stderr}`))
    waiting.clear()
  })

  return {
    /** Resolves when all in-sync replicas have every record. @throws Error with Kafka's message of the first failure */
    async send(records: readonly OutsideRecord[]): Promise<void> {
      if (ended) throw new Error(`The outside producer has ended. ${stderr}`)
      const answers = records.map(() => {
        const answered = Promise.withResolvers<void>()
        waiting.set(count++, answered)
        return answered.promise
      })
      child.stdin.write(records.map(({ key, value }) => `${field(key)}\t${field(value)}\n`).join(''))
      await Promise.all(answers)
    },
    async close(): Promise<void> {
      child.stdin.end()
      await closed
    },
  }
}

const field = (bytes: Buffer | null) => bytes?.toString('base64') ?? '-'
