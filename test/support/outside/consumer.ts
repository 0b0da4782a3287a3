import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { javaCommand, type KafkaVersion, kafkaClassPath, kafkaVersion } from '../local-kafka/maven.ts'

export interface OutsideConsumerOptions {
  brokers: readonly string[]
  topic: string
  /** Stops after this many records. */
  records: number
  /** The version of the consumer. Default 4.3.0. */
  version?: KafkaVersion
  /** Stops when no record arrives for this long. Default two minutes: a busy machine starts the JVM slowly. */
  timeoutMs?: number
}

/** Reads the keys of a topic's committed records from its start with Kafka's own console consumer. */
export async function readKeysOutside(options: OutsideConsumerOptions): Promise<string[]> {
  const { brokers, topic, records, version = kafkaVersion, timeoutMs = 120_000 } = options
  const format = version === '3.9.1' ? '--property' : '--formatter-property'
  const { stdout } = await promisify(execFile)(
    javaCommand(),
    [
      ...['-cp', await kafkaClassPath(() => {}, version), 'org.apache.kafka.tools.consumer.ConsoleConsumer'],
      ...['--bootstrap-server', brokers.join(), '--topic', topic, '--isolation-level', 'read_committed'],
      ...['--from-beginning', '--max-messages', String(records), '--timeout-ms', String(timeoutMs)],
      ...[format, 'print.key=true', format, 'print.value=false'],
    ],
    { maxBuffer: 1024 ** 3 },
  )
  return stdout.split('\n').filter(line => line !== '')
}
