import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { board, choice, own, row } from './board.ts'
import { lines, stat } from './panels.ts'

const topic = `${own}, topic=~"$topic"`

const consumption = row(
  'Is it consumed?',
  lines({
    title: 'Commands read',
    description:
      'By topic: the incoming load. At nothing while records wait: the consumer is stuck, or every window is full.',
    width: 8,
    unit: 'ops',
    queries: [[`sum by (topic) (rate(busgate_commands_consumed_total{${topic}}[$__rate_interval]))`, '{{topic}}']],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'Records that wait, by partition',
    description:
      'From the checkpoint to the end; a partition without any is left out. One partition alone that never comes down: a record at its checkpoint does not end. All of them: more comes in than leaves.',
    width: 8,
    unit: 'short',
    queries: [[`max by (topic, partition) (busgate_consumer_lag_records{${topic}}) > 0`, '{{topic}}/{{partition}}']],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'Window used',
    description:
      'The fullest partition of each topic: offsets above the checkpoint, of 8,192. At 1 nothing more is fetched: something old does not end; see doubts, a pausing account, or the registry in the log.',
    width: 8,
    unit: 'percentunit',
    max: 1,
    queries: [[`max by (topic) (busgate_window_used_ratio{${topic}})`, '{{topic}}']],
    steps: [
      [null, 'transparent'],
      [0.9, 'red'],
    ],
    runbooks: ['BusgateConsumerStuck', 'BusgateWindowFull'],
  }),
)

const ownership = row(
  'Who owns what?',
  lines({
    title: 'Partitions of each process',
    description:
      'They should be alike. The sum falls below the number of partitions: some are read by nobody; see session.openFailed in the log.',
    width: 8,
    unit: 'short',
    stacked: true,
    queries: [[`count by (instance) (busgate_consumer_lag_records{${topic}})`, '{{instance}}']],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'Sessions ended by a newer owner',
    description:
      'Some at a rebalance are normal. Steadily: two processes fight for partitions, or one stalls for longer than kafka.sessionTimeoutMs.',
    width: 4,
    unit: 'short',
    queries: [[`increase(busgate_sessions_fenced_total{${own}}[$__rate_interval])`, '{{instance}}']],
    runbooks: ['BusgateSessionsFenced'],
  }),
  lines({
    title: 'Commits',
    description:
      'How long brokers take for a transaction. Every command waits for two of them; growing: the brokers are slow.',
    width: 8,
    unit: 's',
    queries: [0.5, 0.99].map(
      of =>
        [
          `histogram_quantile(${of}, sum by (le) (rate(busgate_commit_duration_seconds_bucket{${own}}[$__rate_interval])))`,
          `p${of * 100}`,
        ] as const,
    ),
  }),
  lines({
    title: 'Dead letters',
    description:
      'Records that cannot be read, by code. SCHEMA_NOT_FOUND: register the schema. NOT_CONFLUENT, DECODE: mend the producer. Then replay them. NO_NUMERIC_ID: callbacks about messages of other systems.',
    width: 4,
    unit: 'ops',
    queries: [
      [`sum by (stage, code) (rate(busgate_dead_letters_total{${own}}[$__rate_interval])) > 0`, '{{stage}} {{code}}'],
    ],
    runbooks: ['BusgateDeadLetters'],
  }),
)

const processes = row(
  'The processes themselves',
  stat({
    title: 'Running for',
    description: 'By process. Minutes, again and again: it ends itself or is killed; its last log lines say why.',
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
    title: 'Event loop, longest delays',
    description:
      'p99, by process. Beyond a second: the process is starved of processor time, and heartbeats come late; raise its CPU request or add processes.',
    width: 6,
    unit: 's',
    queries: [
      [`nodejs_eventloop_lag_p99_seconds{${own}} and on (namespace, job, instance) busgate_build_info`, '{{instance}}'],
    ],
    steps: [
      [null, 'transparent'],
      [1, 'red'],
    ],
    runbooks: ['BusgateEventLoopSlow'],
  }),
  lines({
    title: 'Heap in use',
    description: 'By process, and the limit. Rising for days: a leak; take a heap snapshot before you restart it.',
    width: 6,
    unit: 'bytes',
    queries: [
      [`nodejs_heap_size_used_bytes{${own}} and on (namespace, job, instance) busgate_build_info`, '{{instance}}'],
      [`min(busgate_heap_limit_bytes{${own}})`, 'limit'],
    ],
    runbooks: ['BusgateHeapNearLimit'],
  }),
  lines({
    title: 'Collecting garbage',
    description: 'Share of time, by process. Above a tenth: the heap is too small for the load.',
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

/** The bus, as busgate sees it: what is read, what waits, who owns which partitions; and the processes. */
export function kafka(): Dashboard {
  return board({
    name: 'kafka',
    title: 'Kafka',
    description: 'What is read and what waits on the bus, who owns which partitions, and how the processes are.',
    choices: [choice('topic', 'Topic', `label_values(busgate_consumer_lag_records{${own}}, topic)`)],
    rows: [consumption, ownership, processes],
  })
}
