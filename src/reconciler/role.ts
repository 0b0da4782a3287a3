import { accountsOf, shareRates } from '../accounts/account.ts'
import { AccountWatch } from '../accounts/account-watch.ts'
import { StatusPoller } from '../accounts/status-poller.ts'
import { KeyedTopic } from '../bus/keyed-topic.ts'
import { GroupPlace } from '../bus/membership/group-place.ts'
import { partitionsOf } from '../bus/partitions.ts'
import type { Bus, Membership, Session, SessionListener } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { installationOf, type Settings } from '../config/index.ts'
import { type Connection, connectGateway } from '../gateway/connection.ts'
import { lostLetters } from '../records/dead-letter.ts'
import { createDecoder } from '../records/decoder.ts'
import { createEncoder } from '../records/encoder.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { createOverdueWriter, createUnreadWriter } from '../records/overdue.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import { createStatusWriter } from '../records/status.ts'
import type { GaugeSource } from '../telemetry/definitions.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { ResultsWalk, type ResultsWalkOptions } from './results-walk.ts'
import { Verdicts } from './verdicts.ts'

interface ReconcilingOptions {
  settings: Settings & { gateway: { url: string } }
  bus: Bus
  registry: SchemaRegistry
  telemetry: Telemetry
  clock: Clock
  /** Random number from 0 to 1, for jitter. */
  random: () => number
  /** Default: a connection to gateway.url. */
  connection?: Connection
  fatal: (error: Error) => void
}

export type Reconciling = Awaited<ReturnType<typeof startReconciling>>

/** How far behind now it reads, unless a verdict is expected sooner. */
const longestDelayMs = 15 * 60_000
/** Default rate, in polls per second and account. */
const usualRate = 10

/**
 * Prepares the role `reconciler`, which polls for messages whose callback does not arrive, and writes their status events. It
 * holds no partition before `join`.
 * @throws Error when a topic is missing or unusable, or when the bus or the registry is unavailable
 */
export async function startReconciling(options: ReconcilingOptions) {
  const { settings, bus, clock } = options
  const { gateway, reconciler, topics } = settings
  await partitionsOf(bus, [topics.results, topics.statuses, topics.overdue, topics.deadLetters])
  const { connection = connectionTo(gateway) } = options
  const poller = new StatusPoller({
    ...gateway,
    connection,
    clock,
    telemetry: options.telemetry,
    hasLease: () => place.membership?.hasLease() ?? false,
    inSlot: (_account, request) => request(),
  })
  const accounts = accountsOf(settings, { ...options, rate: reconciler.rate ?? usualRate, isPolled: true })
  const walkOf = await walksOf(options, { poller, accounts })
  const walks = new Map<Session, ResultsWalk>()
  const shareChanged = () => {
    if (place.membership) shareRates(accounts, place.membership.share(), clock.monotonic())
  }
  const listener: SessionListener = {
    shareChanged,
    opened: session => void walks.set(session, walkOf(session)),
    records: (session, records) => walks.get(session)?.take(records),
    inDoubt: (session, records) => walks.get(session)?.take(records),
    lost: (session, ranges) => lostLetters(topics.deadLetters, session, ranges, 'messages', options.telemetry),
    resumed: () => {},
    closed(session) {
      walks.get(session)?.close()
      walks.delete(session)
    },
    fatal: options.fatal,
  }
  const watch = new AccountWatch({ ...options, gateway, connection, accounts, intervalMs: 0 })
  const place = new GroupPlace(watch, () => join(options, listener))
  return {
    gauges: {
      *read(): ReturnType<GaugeSource['read']> & Generator {
        const behindMs = Math.max(0, ...[...walks.values()].map(walk => walk.behindMs))
        yield { name: 'reconciler_delay_seconds', labels: {}, value: behindMs / 1000 }
      },
    },
    /** Reasons why the role does not work now; empty if it does. */
    reasons: () => place.reasons(),
    /** Accounts for which it cannot poll now. */
    warnings: () => watch.warnings(),
    /**
     * Waits until the gateway is proved, then joins the group. May be called again after an error.
     * @throws Error when the bus refuses or is unavailable, or after `stop`
     */
    async join(): Promise<void> {
      await place.take()
      shareChanged()
    },
    async stop(): Promise<void> {
      watch.stop()
      poller.stop()
      await place.leave()
      await connection.close()
    },
  }
}

function connectionTo({ url, ssl, timeoutMs, keepAliveMs, accounts }: ReconcilingOptions['settings']['gateway']) {
  const connections = accounts.size
  return connectGateway({ url, ca: ssl.ca, timeoutMs, keepAliveMs, connections, maxResponseBytes: undefined })
}

/** Makes the factory of results walks, one per session. */
async function walksOf(
  { settings, bus, registry, telemetry, clock }: ReconcilingOptions,
  asking: Pick<ResultsWalkOptions, 'poller' | 'accounts'>,
): Promise<(session: Session) => ResultsWalk> {
  const { topics, reconciler } = settings
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const patience = { clock, patient: true }
  const resultDecoder = createDecoder<SendResult>(schemas.result, registry, patience)
  const statusDecoder = createDecoder<StatusEvent>(schemas.status, registry, patience)
  const delayMs = Math.min(longestDelayMs, ...Object.values(reconciler.expect))
  const [statuses, results, overdue] = [topics.statuses, topics.results, topics.overdue].map(
    topic => new KeyedTopic(bus, topic, clock),
  ) as [KeyedTopic, KeyedTopic, KeyedTopic]
  return session => {
    const { topic, partition } = session
    const messages = topic === topics.overdue ? overdue : results
    const verdictsOptions = { bus, statuses, messages, partition, decoder: statusDecoder, delayMs, clock, telemetry }
    return new ResultsWalk(session, {
      ...reconciler,
      delayMs,
      ...asking,
      verdicts: new Verdicts(verdictsOptions),
      decoder: resultDecoder,
      writeOverdue: createOverdueWriter(topics.overdue, encodeResult),
      writeUnread: createUnreadWriter(topics.overdue),
      writeStatus: createStatusWriter(topics.statuses, encodeStatus),
      clock,
      telemetry,
    })
  }
}

function join({ settings, bus }: ReconcilingOptions, listener: SessionListener): Promise<Membership> {
  const { topics, kafka } = settings
  return bus.join([topics.results, topics.overdue], listener, {
    group: 'reconciler',
    installation: installationOf(settings),
    recordsOf: () => 'messages',
    // it sends no commands, so adding the role later is not a mistake
    startFrom: kafka.startFrom === 'fail' ? 'earliest' : kafka.startFrom,
  })
}
