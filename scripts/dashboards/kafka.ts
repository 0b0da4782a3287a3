import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { board, byProcess, choice, own, quantiles, rateBy, row } from './board.ts'
import { lines, stat } from './panels.ts'

const topic = `${own}, topic=~"$topic"`

const consumption = row(
  'Is it consumed?',
  lines({
    title: 'Commands read',
    description: 'By topic. 0 while there is lag: the consumer is stuck, or every window is full.',
    width: 8,
    unit: 'ops',
    queries: [rateBy('topic', 'commands_consumed_total', topic)],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'Consumer lag, by partition',
    description:
      'From the checkpoint to the end of the log; partitions without lag are left out. If one partition never falls, the record at its checkpoint does not finish. If all rise, more comes in than is sent.',
    width: 8,
    unit: 'short',
    queries: [[`max by (topic, partition) (busgate_consumer_lag_records{${topic}}) > 0`, '{{topic}}/{{partition}}']],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'Window used',
    description:
      'Offsets read above the checkpoint, of 8,192, in the fullest partition of each topic. At 100 % nothing more is fetched, because an old record does not finish: look for a paused account, or for the registry in the log.',
    width: 8,
    unit: 'percentunit',
    max: 1,
    queries: [[`max by (topic) (busgate_window_used_ratio{${topic}})`, '{{topic}}']],
    steps: ['transparent', [0.9, 'red']],
    runbooks: ['BusgateConsumerStuck', 'BusgateWindowFull'],
  }),
)

const ownership = row(
  'Who owns which partitions?',
  lines({
    title: 'Partitions of each process',
    description:
      'The numbers should be about equal. If their sum is below the number of partitions, nobody reads some of them: see session.openFailed in the log.',
    width: 8,
    unit: 'short',
    stacked: true,
    queries: [[`count by (instance) (busgate_consumer_lag_records{${topic}})`, '{{instance}}']],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'Sessions ended by a newer owner',
    description:
      'A few at a rebalance are normal. All the time: two processes take partitions from each other, or one stalls for longer than kafka.sessionTimeoutMs.',
    width: 4,
    unit: 'short',
    queries: [[`increase(busgate_sessions_fenced_total{${own}}[$__rate_interval])`, '{{instance}}']],
    runbooks: ['BusgateSessionsFenced'],
  }),
  lines({
    title: 'Commits',
    description: 'Duration of a transaction. Every command waits for two. Growing: the brokers are slow.',
    width: 8,
    unit: 's',
    queries: quantiles('commit_duration_seconds', [0.5, 0.99]),
  }),
  lines({
    title: 'Dead letters',
    description:
      'Records that cannot be read, by code. SCHEMA_NOT_FOUND: register the schema, then replay them. NOT_CONFLUENT, DECODE: repair the producer, which writes them again. NO_NUMERIC_ID: callbacks about other systems’ messages.',
    width: 4,
    unit: 'ops',
    queries: [
      [`sum by (stage, code) (rate(busgate_dead_letters_total{${own}}[$__rate_interval])) > 0`, '{{stage}} {{code}}'],
    ],
    runbooks: ['BusgateDeadLetters', 'BusgateFaults'],
  }),
)

const processes = row(
  'Processes',
  stat({
    title: 'Uptime',
    description: 'By process. If it never exceeds minutes, the process exits or is killed: see its last log lines.',
    width: 6,
    height: 7,
    unit: 's',
    queries: [
      [
        `time() - (process_start_time_seconds{${own}} and on (namespace, job, instance) busgate_build_info)`,
        '{{instance}}',
      ],
    ],
    runbooks: ['BusgateRestarting'],
  }),
  lines({
    title: 'Event loop delay, p99',
    description:
      'By process. Above a second: the process lacks CPU, and its heartbeats are late; raise its CPU request or add processes.',
    width: 6,
    unit: 's',
    queries: [byProcess(`nodejs_eventloop_lag_p99_seconds{${own}}`)],
    steps: ['transparent', [1, 'red']],
    runbooks: ['BusgateEventLoopSlow'],
  }),
  lines({
    title: 'Heap used',
    description: 'By process, with its limit. Rising for days: a leak; take a heap snapshot before you restart it.',
    width: 6,
    unit: 'bytes',
    queries: [byProcess(`nodejs_heap_size_used_bytes{${own}}`), [`min(busgate_heap_limit_bytes{${own}})`, 'limit']],
    runbooks: ['BusgateHeapNearLimit'],
  }),
  lines({
    title: 'Time in garbage collection',
    description: 'By process. Above 10 %: the heap is too small for the load.',
    width: 6,
    unit: 'percentunit',
    queries: [
      [
        `sum by (instance) (rate(nodejs_gc_duration_seconds_sum{${own}}[$__rate_interval])) and on (instance) busgate_build_info`,
        '{{instance}}',
      ],
    ],
  }),
)

/** The dashboard of Kafka: consumption, lag, ownership of partitions, and the health of the processes. */
export function kafka(): Dashboard {
  return board({
    name: 'kafka',
    title: 'Kafka',
    description: 'Consumer lag, ownership of partitions, and the health of the processes.',
    choices: [choice('topic', 'Topic', `label_values(busgate_consumer_lag_records{${own}}, topic)`)],
    rows: [consumption, ownership, processes],
  })
}
