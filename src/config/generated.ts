// Made by scripts/generate-settings.ts from src/config/definitions.ts: change that and run it again.
import type { SendType } from '../protocol/index.ts'
import type { CheckedValues } from './check.ts'
import type { GivenValues } from './tree.ts'

/** The checked settings that stand directly below a path, but for those that `compile` makes something else of. */
export interface Sections {
  'kafka': {
    /**
     * Brokers to start from, or the word embedded for the bus inside the process.
     *
     * `kafka.brokers`, variable `BUSGATE_KAFKA_BROKERS`. No default; an example: `broker-1:9092,broker-2:9092`.
     */
    brokers: CheckedValues['kafka.brokers']
    /**
     * Name of this program in the logs and quotas of the brokers.
     *
     * `kafka.clientId`, variable `BUSGATE_KAFKA_CLIENT_ID`. Default: `busgate`.
     */
    clientId: CheckedValues['kafka.clientId']
    /**
     * Consumer group, and the prefix of the transactional ids.
     *
     * `kafka.groupId`, variable `BUSGATE_KAFKA_GROUP_ID`. Default: `busgate`.
     */
    groupId: CheckedValues['kafka.groupId']
    /**
     * Without a heartbeat for this long, a member loses its partitions.
     *
     * `kafka.sessionTimeoutMs`, variable `BUSGATE_KAFKA_SESSION_TIMEOUT_MS`. Default: `10000`.
     */
    sessionTimeoutMs: CheckedValues['kafka.sessionTimeoutMs']
    /**
     * How long a rebalance waits for a member to join again.
     *
     * `kafka.rebalanceTimeoutMs`, variable `BUSGATE_KAFKA_REBALANCE_TIMEOUT_MS`. Default: `30000`.
     */
    rebalanceTimeoutMs: CheckedValues['kafka.rebalanceTimeoutMs']
    /**
     * How long a rebalance waits for requests in flight; what is answered later is in doubt. The group stands still meanwhile, so it is for as long as the slowest answer takes. Unless set half of kafka.sessionTimeoutMs, and gateway.timeoutMs at most.
     *
     * `kafka.drainMs`, variable `BUSGATE_KAFKA_DRAIN_MS`. No default; an example: `5000`.
     */
    drainMs: CheckedValues['kafka.drainMs']
    /**
     * Where to begin on a topic of which the group has no checkpoint; fail: only if it is empty.
     *
     * `kafka.startFrom`, variable `BUSGATE_KAFKA_START_FROM`. Default: `fail`.
     */
    startFrom: CheckedValues['kafka.startFrom']
    /**
     * Whether to go on when records that were not worked on yet are gone from the log, by retention or an unclean election.
     *
     * `kafka.onDataLoss`, variable `BUSGATE_KAFKA_ON_DATA_LOSS`. Default: `continue`.
     */
    onDataLoss: CheckedValues['kafka.onDataLoss']
    /**
     * Compression of what busgate writes to Kafka. Every Kafka client reads gzip; zstd costs half as much, and kafkajs and some others need a codec for it.
     *
     * `kafka.compression`, variable `BUSGATE_KAFKA_COMPRESSION`. Default: `gzip`.
     */
    compression: CheckedValues['kafka.compression']
    /**
     * Makes this process a static member of its group: one that is back within kafka.sessionTimeoutMs finds its partitions, and the others do not notice. It does not leave the group when it stops, so its partitions wait for it so long. No two processes may have the same.
     *
     * `kafka.instanceId`, variable `BUSGATE_KAFKA_INSTANCE_ID`. No default; an example: `busgate-0`.
     */
    instanceId: CheckedValues['kafka.instanceId']
    /**
     * Where this process is, as broker.rack of the brokers that are near: it reads from replicas there, if they have a replica.selector.class.
     *
     * `kafka.rack`, variable `BUSGATE_KAFKA_RACK`. No default; an example: `zone-a`.
     */
    rack: CheckedValues['kafka.rack']
  }
  'kafka.ssl': {
    /**
     * Certificates, in PEM, of who may vouch for the brokers, in place of those that Node trusts.
     *
     * `kafka.ssl.ca`, variable `BUSGATE_KAFKA_SSL_CA`. A secret.
     */
    ca: CheckedValues['kafka.ssl.ca']
    /**
     * Certificate, in PEM, that tells the brokers who this program is.
     *
     * `kafka.ssl.cert`, variable `BUSGATE_KAFKA_SSL_CERT`. A secret.
     */
    cert: CheckedValues['kafka.ssl.cert']
    /**
     * Private key, in PEM, of kafka.ssl.cert.
     *
     * `kafka.ssl.key`, variable `BUSGATE_KAFKA_SSL_KEY`. A secret.
     */
    key: CheckedValues['kafka.ssl.key']
  }
  'kafka.sasl': {
    /**
     * How to sign in at the brokers.
     *
     * `kafka.sasl.mechanism`, variable `BUSGATE_KAFKA_SASL_MECHANISM`. No default; an example: `scram-sha-512`.
     */
    mechanism: CheckedValues['kafka.sasl.mechanism']
    /**
     * User at the brokers.
     *
     * `kafka.sasl.username`, variable `BUSGATE_KAFKA_SASL_USERNAME`. No default; an example: `busgate`.
     */
    username: CheckedValues['kafka.sasl.username']
    /**
     * Password at the brokers.
     *
     * `kafka.sasl.password`, variable `BUSGATE_KAFKA_SASL_PASSWORD`. A secret.
     */
    password: CheckedValues['kafka.sasl.password']
    /**
     * Where oauthbearer gets its tokens, as a client with credentials of its own.
     *
     * `kafka.sasl.tokenEndpoint`, variable `BUSGATE_KAFKA_SASL_TOKEN_ENDPOINT`. No default; an example: `https://login.example/oauth2/token`.
     */
    tokenEndpoint: CheckedValues['kafka.sasl.tokenEndpoint']
    /**
     * Client at the token endpoint.
     *
     * `kafka.sasl.clientId`, variable `BUSGATE_KAFKA_SASL_CLIENT_ID`. No default; an example: `busgate`.
     */
    clientId: CheckedValues['kafka.sasl.clientId']
    /**
     * Secret of that client.
     *
     * `kafka.sasl.clientSecret`, variable `BUSGATE_KAFKA_SASL_CLIENT_SECRET`. A secret.
     */
    clientSecret: CheckedValues['kafka.sasl.clientSecret']
    /**
     * What the token is asked for, if the endpoint wants to be told.
     *
     * `kafka.sasl.scope`, variable `BUSGATE_KAFKA_SASL_SCOPE`. No default; an example: `kafka`.
     */
    scope: CheckedValues['kafka.sasl.scope']
  }
  'registry': {
    /**
     * Confluent-compatible schema registry; required unless the bus is embedded.
     *
     * `registry.url`, variable `BUSGATE_REGISTRY_URL`. No default; an example: `http://registry:8081`.
     */
    url: CheckedValues['registry.url']
    /**
     * Bearer token for the registry, in place of user and password.
     *
     * `registry.token`, variable `BUSGATE_REGISTRY_TOKEN`. A secret.
     */
    token: CheckedValues['registry.token']
    /**
     * User at the registry.
     *
     * `registry.username`, variable `BUSGATE_REGISTRY_USERNAME`. No default; an example: `busgate`.
     */
    username: CheckedValues['registry.username']
    /**
     * Password at the registry.
     *
     * `registry.password`, variable `BUSGATE_REGISTRY_PASSWORD`. A secret.
     */
    password: CheckedValues['registry.password']
  }
  'registry.ssl': {
    /**
     * Certificates, in PEM, of who may vouch for the registry, in place of those that Node trusts.
     *
     * `registry.ssl.ca`, variable `BUSGATE_REGISTRY_SSL_CA`. A secret.
     */
    ca: CheckedValues['registry.ssl.ca']
    /**
     * Certificate, in PEM, that tells the registry who this program is.
     *
     * `registry.ssl.cert`, variable `BUSGATE_REGISTRY_SSL_CERT`. A secret.
     */
    cert: CheckedValues['registry.ssl.cert']
    /**
     * Private key, in PEM, of registry.ssl.cert.
     *
     * `registry.ssl.key`, variable `BUSGATE_REGISTRY_SSL_KEY`. A secret.
     */
    key: CheckedValues['registry.ssl.key']
  }
  'topics': {
    /**
     * Topics of commands, the most urgent first.
     *
     * `topics.commands`, variable `BUSGATE_TOPICS_COMMANDS`. Default: `busgate.commands.otp,busgate.commands`.
     */
    commands: CheckedValues['topics.commands']
    /**
     * Topic of results.
     *
     * `topics.results`, variable `BUSGATE_TOPICS_RESULTS`. Default: `busgate.results`.
     */
    results: CheckedValues['topics.results']
    /**
     * Topic of status events.
     *
     * `topics.statuses`, variable `BUSGATE_TOPICS_STATUSES`. Default: `busgate.statuses`.
     */
    statuses: CheckedValues['topics.statuses']
    /**
     * Topic of records that cannot be read.
     *
     * `topics.deadLetters`, variable `BUSGATE_TOPICS_DEAD_LETTERS`. Default: `busgate.dead-letters`.
     */
    deadLetters: CheckedValues['topics.deadLetters']
    /**
     * Topic of commands of which nobody can tell whether they were sent.
     *
     * `topics.doubts`, variable `BUSGATE_TOPICS_DOUBTS`. Default: `busgate.doubts`.
     */
    doubts: CheckedValues['topics.doubts']
    /**
     * Topic of what operators have paused.
     *
     * `topics.control`, variable `BUSGATE_TOPICS_CONTROL`. Default: `busgate.control`.
     */
    control: CheckedValues['topics.control']
    /**
     * Topic of messages whose verdict is missing; only the reconciler uses it.
     *
     * `topics.overdue`, variable `BUSGATE_TOPICS_OVERDUE`. Default: `busgate.overdue`.
     */
    overdue: CheckedValues['topics.overdue']
  }
  'gateway': {
    /**
     * Base address of the gateway; /api/json.php is appended.
     *
     * `gateway.url`, variable `BUSGATE_GATEWAY_URL`. No default; an example: `https://gateway.example`.
     */
    url: CheckedValues['gateway.url']
    /**
     * Parts of an envelope that tenants may have, while others of their account wait; 1 unless set. In a variable a JSON object.
     *
     * `gateway.tenantWeights`, variable `BUSGATE_GATEWAY_TENANT_WEIGHTS`. No default; an example: `{"shop-a":3}`.
     */
    tenantWeights: NonNullable<CheckedValues['gateway.tenantWeights']>
    /**
     * Full address of the asynchronous interface, its path included (library and busgate gateway --async only).
     *
     * `gateway.asyncUrl`, variable `BUSGATE_GATEWAY_ASYNC_URL`. No default; an example: `https://gateway.example/v1/json`.
     */
    asyncUrl: CheckedValues['gateway.asyncUrl']
    /**
     * Error codes for further texts of the gateway; in a variable a JSON object.
     *
     * `gateway.errorTexts`, variable `BUSGATE_GATEWAY_ERROR_TEXTS`. No default; an example: `{"No such sender":"SENDER_INVALID"}`.
     */
    errorTexts: NonNullable<CheckedValues['gateway.errorTexts']>
    /**
     * Whether voice gets a hook. The specification does not list one among its fields, but takes additional properties, and returns the digit pressed by callback; with false its statuses are expected at the address of the account.
     *
     * `gateway.voiceHook`, variable `BUSGATE_GATEWAY_VOICE_HOOK`. Default: `true`.
     */
    voiceHook: CheckedValues['gateway.voiceHook']
    /**
     * Whether a message without any text, image, link or carousel may be sent; otherwise its command is INVALID.
     *
     * `gateway.allowEmpty`, variable `BUSGATE_GATEWAY_ALLOW_EMPTY`. Default: `false`.
     */
    allowEmpty: CheckedValues['gateway.allowEmpty']
    /**
     * How often the balance is asked for; 0: never.
     *
     * `gateway.balanceIntervalMs`, variable `BUSGATE_GATEWAY_BALANCE_INTERVAL_MS`. Default: `300000`.
     */
    balanceIntervalMs: CheckedValues['gateway.balanceIntervalMs']
    /**
     * Most operations in an envelope.
     *
     * `gateway.maxOperations`, variable `BUSGATE_GATEWAY_MAX_OPERATIONS`. Default: `100`.
     */
    maxOperations: CheckedValues['gateway.maxOperations']
    /**
     * Longest body of an envelope, in bytes.
     *
     * `gateway.maxBytes`, variable `BUSGATE_GATEWAY_MAX_BYTES`. Default: `262144`.
     */
    maxBytes: CheckedValues['gateway.maxBytes']
    /**
     * Longest wait for an envelope to fill, counted from the append of its first command.
     *
     * `gateway.lingerMs`, variable `BUSGATE_GATEWAY_LINGER_MS`. Default: `20`.
     */
    lingerMs: CheckedValues['gateway.lingerMs']
    /**
     * Requests in flight in one process: what the gateway sees at a time. The last one is kept for the most urgent topic.
     *
     * `gateway.concurrency`, variable `BUSGATE_GATEWAY_CONCURRENCY`. Default: `8`.
     */
    concurrency: CheckedValues['gateway.concurrency']
    /**
     * Longest wait for an answer of the gateway.
     *
     * `gateway.timeoutMs`, variable `BUSGATE_GATEWAY_TIMEOUT_MS`. Default: `30000`.
     */
    timeoutMs: CheckedValues['gateway.timeoutMs']
    /**
     * How long a connection to the gateway stays open without a request; the Keep-Alive header of the gateway can shorten it. Set it below the idle time-out of the gateway: a request that meets the closing of its connection is in doubt.
     *
     * `gateway.keepAliveMs`, variable `BUSGATE_GATEWAY_KEEP_ALIVE_MS`. Default: `4000`.
     */
    keepAliveMs: CheckedValues['gateway.keepAliveMs']
  }
  'gateway.ssl': {
    /**
     * Certificates, in PEM, of who may vouch for the gateway, in place of those that Node trusts.
     *
     * `gateway.ssl.ca`, variable `BUSGATE_GATEWAY_SSL_CA`. A secret.
     */
    ca: CheckedValues['gateway.ssl.ca']
  }
  'delivery': {
    /**
     * Older commands expire; keep it below offsets.retention of the brokers.
     *
     * `delivery.maxAgeMs`, variable `BUSGATE_DELIVERY_MAX_AGE_MS`. Default: `86400000`.
     */
    maxAgeMs: CheckedValues['delivery.maxAgeMs']
    /**
     * How long a request in doubt is left alone before its status is asked for.
     *
     * `delivery.settleMs`, variable `BUSGATE_DELIVERY_SETTLE_MS`. Default: `60000`.
     */
    settleMs: CheckedValues['delivery.settleMs']
    /**
     * How many definite answers to a status poll settle a doubt.
     *
     * `delivery.polls`, variable `BUSGATE_DELIVERY_POLLS`. Default: `3`.
     */
    polls: CheckedValues['delivery.polls']
    /**
     * Wait between two status polls.
     *
     * `delivery.pollIntervalMs`, variable `BUSGATE_DELIVERY_POLL_INTERVAL_MS`. Default: `20000`.
     */
    pollIntervalMs: CheckedValues['delivery.pollIntervalMs']
    /**
     * Most requests for one command under AT_LEAST_ONCE.
     *
     * `delivery.attempts`, variable `BUSGATE_DELIVERY_ATTEMPTS`. Default: `3`.
     */
    attempts: CheckedValues['delivery.attempts']
    /**
     * Texts by which the gateway says that it does not know an id; one with a comma needs the file.
     *
     * `delivery.notFoundErrors`, variable `BUSGATE_DELIVERY_NOT_FOUND_ERRORS`. No default; an example: `Message not found`.
     */
    notFoundErrors: NonNullable<CheckedValues['delivery.notFoundErrors']>
    /**
     * Most commands of one process that may have been sent and have no committed result yet, or are about to be sent: a kill leaves no more in doubt. Unless set 2 × gateway.concurrency × gateway.maxOperations, 6,400 at least.
     *
     * `delivery.maxIntents`, variable `BUSGATE_DELIVERY_MAX_INTENTS`. No default; an example: `6400`.
     */
    maxIntents: CheckedValues['delivery.maxIntents']
    /**
     * How many of its last ids a partition knows again; 0: none.
     *
     * `delivery.dedupeWindow`, variable `BUSGATE_DELIVERY_DEDUPE_WINDOW`. Default: `10000`.
     */
    dedupeWindow: CheckedValues['delivery.dedupeWindow']
    /**
     * Whether the results are read for what was answered before, where the committed offset carries no window (it was reset, or the group is new); false sends all of that again.
     *
     * `delivery.checkResults`, variable `BUSGATE_DELIVERY_CHECK_RESULTS`. Default: `true`.
     */
    checkResults: CheckedValues['delivery.checkResults']
  }
  'callbacks': {
    /**
     * Port of the callback receiver; 0: any free one.
     *
     * `callbacks.port`, variable `BUSGATE_CALLBACKS_PORT`. Default: `8080`.
     */
    port: CheckedValues['callbacks.port']
    /**
     * Address the callback receiver listens on; :: is every one of IPv4 and IPv6, and of IPv4 alone where the machine has no IPv6.
     *
     * `callbacks.host`, variable `BUSGATE_CALLBACKS_HOST`. Default: `::`.
     */
    host: CheckedValues['callbacks.host']
    /**
     * Address at which the gateway reaches the receiver; without it no hook is set.
     *
     * `callbacks.publicUrl`, variable `BUSGATE_CALLBACKS_PUBLIC_URL`. No default; an example: `https://hooks.example`.
     */
    publicUrl: CheckedValues['callbacks.publicUrl']
    /**
     * Signs hook addresses: a list of kid:secret, the first signs, all verify.
     *
     * `callbacks.secret`, variable `BUSGATE_CALLBACKS_SECRET`. A secret.
     */
    secret: CheckedValues['callbacks.secret']
    /**
     * Longest hook address; correlation is left out of one that would be longer.
     *
     * `callbacks.urlMaxLength`, variable `BUSGATE_CALLBACKS_URL_MAX_LENGTH`. Default: `255`.
     */
    urlMaxLength: CheckedValues['callbacks.urlMaxLength']
    /**
     * How long a hook address is good for.
     *
     * `callbacks.tokenLifeMs`, variable `BUSGATE_CALLBACKS_TOKEN_LIFE_MS`. Default: `2592000000`.
     */
    tokenLifeMs: CheckedValues['callbacks.tokenLifeMs']
    /**
     * Most connections of the receiver; beyond, the one that has not finished a request for longest is closed.
     *
     * `callbacks.connections`, variable `BUSGATE_CALLBACKS_CONNECTIONS`. Default: `2048`.
     */
    connections: CheckedValues['callbacks.connections']
    /**
     * Memory for the bodies of callbacks that are not answered yet, in bytes. Beyond, those that are unfinished for longest are given up, and what still finds no room is answered 503.
     *
     * `callbacks.inFlightBytes`, variable `BUSGATE_CALLBACKS_IN_FLIGHT_BYTES`. Default: `16777216`.
     */
    inFlightBytes: CheckedValues['callbacks.inFlightBytes']
    /**
     * Longest body of a callback.
     *
     * `callbacks.bodyBytes`, variable `BUSGATE_CALLBACKS_BODY_BYTES`. Default: `65536`.
     */
    bodyBytes: CheckedValues['callbacks.bodyBytes']
    /**
     * How long the headers of a request may take to arrive.
     *
     * `callbacks.headersMs`, variable `BUSGATE_CALLBACKS_HEADERS_MS`. Default: `5000`.
     */
    headersMs: CheckedValues['callbacks.headersMs']
    /**
     * How long a whole request may take to arrive.
     *
     * `callbacks.requestMs`, variable `BUSGATE_CALLBACKS_REQUEST_MS`. Default: `10000`.
     */
    requestMs: CheckedValues['callbacks.requestMs']
    /**
     * How long a connection is kept between two requests; proxies should close theirs before.
     *
     * `callbacks.keepAliveMs`, variable `BUSGATE_CALLBACKS_KEEP_ALIVE_MS`. Default: `65000`.
     */
    keepAliveMs: CheckedValues['callbacks.keepAliveMs']
  }
  'reconciler': {
    /**
     * How far behind the results the reconciler walks, and how often it looks at a message whose verdict is missing.
     *
     * `reconciler.delayMs`, variable `BUSGATE_RECONCILER_DELAY_MS`. Default: `900000`.
     */
    delayMs: CheckedValues['reconciler.delayMs']
    /**
     * How long after the end of its life a message without a verdict is given up, with a final status UNKNOWN.
     *
     * `reconciler.graceMs`, variable `BUSGATE_RECONCILER_GRACE_MS`. Default: `3600000`.
     */
    graceMs: CheckedValues['reconciler.graceMs']
    /**
     * Status polls a second that the reconciler may use of each account, over the whole fleet; taken off the rate that workers use. Required by the reconciler for accounts with a rate; 10 for the others.
     *
     * `reconciler.rate`, variable `BUSGATE_RECONCILER_RATE`. No default; an example: `5`.
     */
    rate: CheckedValues['reconciler.rate']
  }
  'telemetry': {
    /**
     * Port of /metrics, /healthz and /readyz; 0: any free one.
     *
     * `telemetry.port`, variable `BUSGATE_TELEMETRY_PORT`. Default: `9464`.
     */
    port: CheckedValues['telemetry.port']
    /**
     * Address the telemetry server listens on, as callbacks.host.
     *
     * `telemetry.host`, variable `BUSGATE_TELEMETRY_HOST`. Default: `::`.
     */
    host: CheckedValues['telemetry.host']
    /**
     * Least serious level that is logged.
     *
     * `telemetry.logLevel`, variable `BUSGATE_TELEMETRY_LOG_LEVEL`. Default: `info`.
     */
    logLevel: CheckedValues['telemetry.logLevel']
  }
}

/** Settings as a tree like that of the file; none is required. `busgate config print` shows all of them. */
export interface SettingsTree {
  /** The brokers, and how this process works with them. */
  readonly kafka?: {
    /**
     * Brokers to start from, or the word embedded for the bus inside the process.
     *
     * `kafka.brokers`, variable `BUSGATE_KAFKA_BROKERS`. No default; an example: `broker-1:9092,broker-2:9092`.
     */
    readonly brokers?: GivenValues['kafka.brokers'] | undefined
    /**
     * Name of this program in the logs and quotas of the brokers.
     *
     * `kafka.clientId`, variable `BUSGATE_KAFKA_CLIENT_ID`. Default: `busgate`.
     */
    readonly clientId?: GivenValues['kafka.clientId'] | undefined
    /**
     * Consumer group, and the prefix of the transactional ids.
     *
     * `kafka.groupId`, variable `BUSGATE_KAFKA_GROUP_ID`. Default: `busgate`.
     */
    readonly groupId?: GivenValues['kafka.groupId'] | undefined
    /**
     * Without a heartbeat for this long, a member loses its partitions.
     *
     * `kafka.sessionTimeoutMs`, variable `BUSGATE_KAFKA_SESSION_TIMEOUT_MS`. Default: `10000`.
     */
    readonly sessionTimeoutMs?: GivenValues['kafka.sessionTimeoutMs'] | undefined
    /**
     * How long a rebalance waits for a member to join again.
     *
     * `kafka.rebalanceTimeoutMs`, variable `BUSGATE_KAFKA_REBALANCE_TIMEOUT_MS`. Default: `30000`.
     */
    readonly rebalanceTimeoutMs?: GivenValues['kafka.rebalanceTimeoutMs'] | undefined
    /**
     * How long a rebalance waits for requests in flight; what is answered later is in doubt. The group stands still meanwhile, so it is for as long as the slowest answer takes. Unless set half of kafka.sessionTimeoutMs, and gateway.timeoutMs at most.
     *
     * `kafka.drainMs`, variable `BUSGATE_KAFKA_DRAIN_MS`. No default; an example: `5000`.
     */
    readonly drainMs?: GivenValues['kafka.drainMs'] | undefined
    /**
     * Where to begin on a topic of which the group has no checkpoint; fail: only if it is empty.
     *
     * `kafka.startFrom`, variable `BUSGATE_KAFKA_START_FROM`. Default: `fail`.
     */
    readonly startFrom?: GivenValues['kafka.startFrom'] | undefined
    /**
     * Whether to go on when records that were not worked on yet are gone from the log, by retention or an unclean election.
     *
     * `kafka.onDataLoss`, variable `BUSGATE_KAFKA_ON_DATA_LOSS`. Default: `continue`.
     */
    readonly onDataLoss?: GivenValues['kafka.onDataLoss'] | undefined
    /**
     * Compression of what busgate writes to Kafka. Every Kafka client reads gzip; zstd costs half as much, and kafkajs and some others need a codec for it.
     *
     * `kafka.compression`, variable `BUSGATE_KAFKA_COMPRESSION`. Default: `gzip`.
     */
    readonly compression?: GivenValues['kafka.compression'] | undefined
    /**
     * Makes this process a static member of its group: one that is back within kafka.sessionTimeoutMs finds its partitions, and the others do not notice. It does not leave the group when it stops, so its partitions wait for it so long. No two processes may have the same.
     *
     * `kafka.instanceId`, variable `BUSGATE_KAFKA_INSTANCE_ID`. No default; an example: `busgate-0`.
     */
    readonly instanceId?: GivenValues['kafka.instanceId'] | undefined
    /**
     * Where this process is, as broker.rack of the brokers that are near: it reads from replicas there, if they have a replica.selector.class.
     *
     * `kafka.rack`, variable `BUSGATE_KAFKA_RACK`. No default; an example: `zone-a`.
     */
    readonly rack?: GivenValues['kafka.rack'] | undefined
    /**
     * Whether to speak TLS to the brokers; any of kafka.ssl.ca, .cert and .key says so, too.
     *
     * `kafka.ssl`, variable `BUSGATE_KAFKA_SSL`. Default: `false`.
     */
    readonly ssl?: GivenValues['kafka.ssl'] | {
      /**
       * Certificates, in PEM, of who may vouch for the brokers, in place of those that Node trusts.
       *
       * `kafka.ssl.ca`, variable `BUSGATE_KAFKA_SSL_CA`. A secret.
       */
      readonly ca?: GivenValues['kafka.ssl.ca'] | undefined
      /** The file that holds `kafka.ssl.ca`. */
      readonly caFile?: string | undefined
      /**
       * Certificate, in PEM, that tells the brokers who this program is.
       *
       * `kafka.ssl.cert`, variable `BUSGATE_KAFKA_SSL_CERT`. A secret.
       */
      readonly cert?: GivenValues['kafka.ssl.cert'] | undefined
      /** The file that holds `kafka.ssl.cert`. */
      readonly certFile?: string | undefined
      /**
       * Private key, in PEM, of kafka.ssl.cert.
       *
       * `kafka.ssl.key`, variable `BUSGATE_KAFKA_SSL_KEY`. A secret.
       */
      readonly key?: GivenValues['kafka.ssl.key'] | undefined
      /** The file that holds `kafka.ssl.key`. */
      readonly keyFile?: string | undefined
    } | undefined
    /** The settings below `kafka.sasl`. */
    readonly sasl?: {
      /**
       * How to sign in at the brokers.
       *
       * `kafka.sasl.mechanism`, variable `BUSGATE_KAFKA_SASL_MECHANISM`. No default; an example: `scram-sha-512`.
       */
      readonly mechanism?: GivenValues['kafka.sasl.mechanism'] | undefined
      /**
       * User at the brokers.
       *
       * `kafka.sasl.username`, variable `BUSGATE_KAFKA_SASL_USERNAME`. No default; an example: `busgate`.
       */
      readonly username?: GivenValues['kafka.sasl.username'] | undefined
      /**
       * Password at the brokers.
       *
       * `kafka.sasl.password`, variable `BUSGATE_KAFKA_SASL_PASSWORD`. A secret.
       */
      readonly password?: GivenValues['kafka.sasl.password'] | undefined
      /** The file that holds `kafka.sasl.password`. */
      readonly passwordFile?: string | undefined
      /**
       * Where oauthbearer gets its tokens, as a client with credentials of its own.
       *
       * `kafka.sasl.tokenEndpoint`, variable `BUSGATE_KAFKA_SASL_TOKEN_ENDPOINT`. No default; an example: `https://login.example/oauth2/token`.
       */
      readonly tokenEndpoint?: GivenValues['kafka.sasl.tokenEndpoint'] | undefined
      /**
       * Client at the token endpoint.
       *
       * `kafka.sasl.clientId`, variable `BUSGATE_KAFKA_SASL_CLIENT_ID`. No default; an example: `busgate`.
       */
      readonly clientId?: GivenValues['kafka.sasl.clientId'] | undefined
      /**
       * Secret of that client.
       *
       * `kafka.sasl.clientSecret`, variable `BUSGATE_KAFKA_SASL_CLIENT_SECRET`. A secret.
       */
      readonly clientSecret?: GivenValues['kafka.sasl.clientSecret'] | undefined
      /** The file that holds `kafka.sasl.clientSecret`. */
      readonly clientSecretFile?: string | undefined
      /**
       * What the token is asked for, if the endpoint wants to be told.
       *
       * `kafka.sasl.scope`, variable `BUSGATE_KAFKA_SASL_SCOPE`. No default; an example: `kafka`.
       */
      readonly scope?: GivenValues['kafka.sasl.scope'] | undefined
    } | undefined
  } | undefined
  /** The schema registry. */
  readonly registry?: {
    /**
     * Confluent-compatible schema registry; required unless the bus is embedded.
     *
     * `registry.url`, variable `BUSGATE_REGISTRY_URL`. No default; an example: `http://registry:8081`.
     */
    readonly url?: GivenValues['registry.url'] | undefined
    /** The settings below `registry.ssl`. */
    readonly ssl?: {
      /**
       * Certificates, in PEM, of who may vouch for the registry, in place of those that Node trusts.
       *
       * `registry.ssl.ca`, variable `BUSGATE_REGISTRY_SSL_CA`. A secret.
       */
      readonly ca?: GivenValues['registry.ssl.ca'] | undefined
      /** The file that holds `registry.ssl.ca`. */
      readonly caFile?: string | undefined
      /**
       * Certificate, in PEM, that tells the registry who this program is.
       *
       * `registry.ssl.cert`, variable `BUSGATE_REGISTRY_SSL_CERT`. A secret.
       */
      readonly cert?: GivenValues['registry.ssl.cert'] | undefined
      /** The file that holds `registry.ssl.cert`. */
      readonly certFile?: string | undefined
      /**
       * Private key, in PEM, of registry.ssl.cert.
       *
       * `registry.ssl.key`, variable `BUSGATE_REGISTRY_SSL_KEY`. A secret.
       */
      readonly key?: GivenValues['registry.ssl.key'] | undefined
      /** The file that holds `registry.ssl.key`. */
      readonly keyFile?: string | undefined
    } | undefined
    /**
     * Bearer token for the registry, in place of user and password.
     *
     * `registry.token`, variable `BUSGATE_REGISTRY_TOKEN`. A secret.
     */
    readonly token?: GivenValues['registry.token'] | undefined
    /** The file that holds `registry.token`. */
    readonly tokenFile?: string | undefined
    /**
     * User at the registry.
     *
     * `registry.username`, variable `BUSGATE_REGISTRY_USERNAME`. No default; an example: `busgate`.
     */
    readonly username?: GivenValues['registry.username'] | undefined
    /**
     * Password at the registry.
     *
     * `registry.password`, variable `BUSGATE_REGISTRY_PASSWORD`. A secret.
     */
    readonly password?: GivenValues['registry.password'] | undefined
    /** The file that holds `registry.password`. */
    readonly passwordFile?: string | undefined
  } | undefined
  /** Names of the topics. */
  readonly topics?: {
    /**
     * Topics of commands, the most urgent first.
     *
     * `topics.commands`, variable `BUSGATE_TOPICS_COMMANDS`. Default: `busgate.commands.otp,busgate.commands`.
     */
    readonly commands?: GivenValues['topics.commands'] | undefined
    /**
     * Topic of results.
     *
     * `topics.results`, variable `BUSGATE_TOPICS_RESULTS`. Default: `busgate.results`.
     */
    readonly results?: GivenValues['topics.results'] | undefined
    /**
     * Topic of status events.
     *
     * `topics.statuses`, variable `BUSGATE_TOPICS_STATUSES`. Default: `busgate.statuses`.
     */
    readonly statuses?: GivenValues['topics.statuses'] | undefined
    /**
     * Topic of records that cannot be read.
     *
     * `topics.deadLetters`, variable `BUSGATE_TOPICS_DEAD_LETTERS`. Default: `busgate.dead-letters`.
     */
    readonly deadLetters?: GivenValues['topics.deadLetters'] | undefined
    /**
     * Topic of commands of which nobody can tell whether they were sent.
     *
     * `topics.doubts`, variable `BUSGATE_TOPICS_DOUBTS`. Default: `busgate.doubts`.
     */
    readonly doubts?: GivenValues['topics.doubts'] | undefined
    /**
     * Topic of what operators have paused.
     *
     * `topics.control`, variable `BUSGATE_TOPICS_CONTROL`. Default: `busgate.control`.
     */
    readonly control?: GivenValues['topics.control'] | undefined
    /**
     * Topic of messages whose verdict is missing; only the reconciler uses it.
     *
     * `topics.overdue`, variable `BUSGATE_TOPICS_OVERDUE`. Default: `busgate.overdue`.
     */
    readonly overdue?: GivenValues['topics.overdue'] | undefined
  } | undefined
  /** The messaging gateway and its accounts. */
  readonly gateway?: {
    /**
     * Base address of the gateway; /api/json.php is appended.
     *
     * `gateway.url`, variable `BUSGATE_GATEWAY_URL`. No default; an example: `https://gateway.example`.
     */
    readonly url?: GivenValues['gateway.url'] | undefined
    /** The settings below `gateway.ssl`. */
    readonly ssl?: {
      /**
       * Certificates, in PEM, of who may vouch for the gateway, in place of those that Node trusts.
       *
       * `gateway.ssl.ca`, variable `BUSGATE_GATEWAY_SSL_CA`. A secret.
       */
      readonly ca?: GivenValues['gateway.ssl.ca'] | undefined
      /** The file that holds `gateway.ssl.ca`. */
      readonly caFile?: string | undefined
    } | undefined
    /**
     * API key of the account named default.
     *
     * `gateway.apiKey`, variable `BUSGATE_GATEWAY_API_KEY`. A secret.
     */
    readonly apiKey?: GivenValues['gateway.apiKey'] | undefined
    /** The file that holds `gateway.apiKey`. */
    readonly apiKeyFile?: string | undefined
    /** The settings below `gateway.accounts`. */
    readonly accounts?: {
      readonly [name: string]: {
        /**
         * API key of a further account.
         *
         * `gateway.accounts.NAME.apiKey`, variable `BUSGATE_GATEWAY_ACCOUNTS_NAME_API_KEY`. A secret.
         */
        readonly apiKey?: GivenValues['gateway.accounts.NAME.apiKey'] | undefined
        /** The file that holds `gateway.accounts.NAME.apiKey`. */
        readonly apiKeyFile?: string | undefined
        /**
         * Like gateway.rate, for this account alone.
         *
         * `gateway.accounts.NAME.rate`, variable `BUSGATE_GATEWAY_ACCOUNTS_NAME_RATE`. No default; an example: `50`.
         */
        readonly rate?: GivenValues['gateway.accounts.NAME.rate'] | undefined
        /**
         * How many envelopes an account sends in its turn, while others wait; 1 unless set.
         *
         * `gateway.accounts.NAME.weight`, variable `BUSGATE_GATEWAY_ACCOUNTS_NAME_WEIGHT`. No default; an example: `2`.
         */
        readonly weight?: GivenValues['gateway.accounts.NAME.weight'] | undefined
      }
    } | undefined
    /**
     * Parts of an envelope that tenants may have, while others of their account wait; 1 unless set. In a variable a JSON object.
     *
     * `gateway.tenantWeights`, variable `BUSGATE_GATEWAY_TENANT_WEIGHTS`. No default; an example: `{"shop-a":3}`.
     */
    readonly tenantWeights?: GivenValues['gateway.tenantWeights'] | undefined
    /**
     * Operations a second that an account may use over the whole fleet, status polls included. Whole operations count: a process whose share is 1.5 sends 1 in any second, and one with 0.5 sends 1 in any two.
     *
     * `gateway.rate`, variable `BUSGATE_GATEWAY_RATE`. No default; an example: `50`.
     */
    readonly rate?: GivenValues['gateway.rate'] | undefined
    /**
     * Full address of the asynchronous interface, its path included (library and busgate gateway --async only).
     *
     * `gateway.asyncUrl`, variable `BUSGATE_GATEWAY_ASYNC_URL`. No default; an example: `https://gateway.example/v1/json`.
     */
    readonly asyncUrl?: GivenValues['gateway.asyncUrl'] | undefined
    /**
     * Error codes for further texts of the gateway; in a variable a JSON object.
     *
     * `gateway.errorTexts`, variable `BUSGATE_GATEWAY_ERROR_TEXTS`. No default; an example: `{"No such sender":"SENDER_INVALID"}`.
     */
    readonly errorTexts?: GivenValues['gateway.errorTexts'] | undefined
    /**
     * Whether voice gets a hook. The specification does not list one among its fields, but takes additional properties, and returns the digit pressed by callback; with false its statuses are expected at the address of the account.
     *
     * `gateway.voiceHook`, variable `BUSGATE_GATEWAY_VOICE_HOOK`. Default: `true`.
     */
    readonly voiceHook?: GivenValues['gateway.voiceHook'] | undefined
    /**
     * Whether a message without any text, image, link or carousel may be sent; otherwise its command is INVALID.
     *
     * `gateway.allowEmpty`, variable `BUSGATE_GATEWAY_ALLOW_EMPTY`. Default: `false`.
     */
    readonly allowEmpty?: GivenValues['gateway.allowEmpty'] | undefined
    /**
     * How often the balance is asked for; 0: never.
     *
     * `gateway.balanceIntervalMs`, variable `BUSGATE_GATEWAY_BALANCE_INTERVAL_MS`. Default: `300000`.
     */
    readonly balanceIntervalMs?: GivenValues['gateway.balanceIntervalMs'] | undefined
    /**
     * Most operations in an envelope.
     *
     * `gateway.maxOperations`, variable `BUSGATE_GATEWAY_MAX_OPERATIONS`. Default: `100`.
     */
    readonly maxOperations?: GivenValues['gateway.maxOperations'] | undefined
    /**
     * Longest body of an envelope, in bytes.
     *
     * `gateway.maxBytes`, variable `BUSGATE_GATEWAY_MAX_BYTES`. Default: `262144`.
     */
    readonly maxBytes?: GivenValues['gateway.maxBytes'] | undefined
    /**
     * Longest wait for an envelope to fill, counted from the append of its first command.
     *
     * `gateway.lingerMs`, variable `BUSGATE_GATEWAY_LINGER_MS`. Default: `20`.
     */
    readonly lingerMs?: GivenValues['gateway.lingerMs'] | undefined
    /**
     * Requests in flight in one process: what the gateway sees at a time. The last one is kept for the most urgent topic.
     *
     * `gateway.concurrency`, variable `BUSGATE_GATEWAY_CONCURRENCY`. Default: `8`.
     */
    readonly concurrency?: GivenValues['gateway.concurrency'] | undefined
    /**
     * Longest wait for an answer of the gateway.
     *
     * `gateway.timeoutMs`, variable `BUSGATE_GATEWAY_TIMEOUT_MS`. Default: `30000`.
     */
    readonly timeoutMs?: GivenValues['gateway.timeoutMs'] | undefined
    /**
     * How long a connection to the gateway stays open without a request; the Keep-Alive header of the gateway can shorten it. Set it below the idle time-out of the gateway: a request that meets the closing of its connection is in doubt.
     *
     * `gateway.keepAliveMs`, variable `BUSGATE_GATEWAY_KEEP_ALIVE_MS`. Default: `4000`.
     */
    readonly keepAliveMs?: GivenValues['gateway.keepAliveMs'] | undefined
  } | undefined
  /** What is sent again, and what is not. */
  readonly delivery?: {
    /**
     * What to do when nobody can tell whether a message was sent, for types without a rule of their own.
     *
     * `delivery.default`, variable `BUSGATE_DELIVERY_DEFAULT`. Default: `AT_LEAST_ONCE`.
     */
    readonly default?: GivenValues['delivery.default'] | undefined
    /** The rule of one type; AT_MOST_ONCE for telegram, call/otp and hlr unless set. */
    readonly types?: {
      readonly [T in SendType]?: GivenValues['delivery.types.TYPE'] | undefined
    } | undefined
    /**
     * Older commands expire; keep it below offsets.retention of the brokers.
     *
     * `delivery.maxAgeMs`, variable `BUSGATE_DELIVERY_MAX_AGE_MS`. Default: `86400000`.
     */
    readonly maxAgeMs?: GivenValues['delivery.maxAgeMs'] | undefined
    /**
     * How long a request in doubt is left alone before its status is asked for.
     *
     * `delivery.settleMs`, variable `BUSGATE_DELIVERY_SETTLE_MS`. Default: `60000`.
     */
    readonly settleMs?: GivenValues['delivery.settleMs'] | undefined
    /**
     * How many definite answers to a status poll settle a doubt.
     *
     * `delivery.polls`, variable `BUSGATE_DELIVERY_POLLS`. Default: `3`.
     */
    readonly polls?: GivenValues['delivery.polls'] | undefined
    /**
     * Wait between two status polls.
     *
     * `delivery.pollIntervalMs`, variable `BUSGATE_DELIVERY_POLL_INTERVAL_MS`. Default: `20000`.
     */
    readonly pollIntervalMs?: GivenValues['delivery.pollIntervalMs'] | undefined
    /**
     * Most requests for one command under AT_LEAST_ONCE.
     *
     * `delivery.attempts`, variable `BUSGATE_DELIVERY_ATTEMPTS`. Default: `3`.
     */
    readonly attempts?: GivenValues['delivery.attempts'] | undefined
    /**
     * Texts by which the gateway says that it does not know an id; one with a comma needs the file.
     *
     * `delivery.notFoundErrors`, variable `BUSGATE_DELIVERY_NOT_FOUND_ERRORS`. No default; an example: `Message not found`.
     */
    readonly notFoundErrors?: GivenValues['delivery.notFoundErrors'] | undefined
    /**
     * Most commands of one process that may have been sent and have no committed result yet, or are about to be sent: a kill leaves no more in doubt. Unless set 2 × gateway.concurrency × gateway.maxOperations, 6,400 at least.
     *
     * `delivery.maxIntents`, variable `BUSGATE_DELIVERY_MAX_INTENTS`. No default; an example: `6400`.
     */
    readonly maxIntents?: GivenValues['delivery.maxIntents'] | undefined
    /**
     * How many of its last ids a partition knows again; 0: none.
     *
     * `delivery.dedupeWindow`, variable `BUSGATE_DELIVERY_DEDUPE_WINDOW`. Default: `10000`.
     */
    readonly dedupeWindow?: GivenValues['delivery.dedupeWindow'] | undefined
    /**
     * Whether the results are read for what was answered before, where the committed offset carries no window (it was reset, or the group is new); false sends all of that again.
     *
     * `delivery.checkResults`, variable `BUSGATE_DELIVERY_CHECK_RESULTS`. Default: `true`.
     */
    readonly checkResults?: GivenValues['delivery.checkResults'] | undefined
  } | undefined
  /** The receiver of callbacks, and the hook addresses that lead to it. */
  readonly callbacks?: {
    /**
     * Port of the callback receiver; 0: any free one.
     *
     * `callbacks.port`, variable `BUSGATE_CALLBACKS_PORT`. Default: `8080`.
     */
    readonly port?: GivenValues['callbacks.port'] | undefined
    /**
     * Address the callback receiver listens on; :: is every one of IPv4 and IPv6, and of IPv4 alone where the machine has no IPv6.
     *
     * `callbacks.host`, variable `BUSGATE_CALLBACKS_HOST`. Default: `::`.
     */
    readonly host?: GivenValues['callbacks.host'] | undefined
    /**
     * Address at which the gateway reaches the receiver; without it no hook is set.
     *
     * `callbacks.publicUrl`, variable `BUSGATE_CALLBACKS_PUBLIC_URL`. No default; an example: `https://hooks.example`.
     */
    readonly publicUrl?: GivenValues['callbacks.publicUrl'] | undefined
    /**
     * Signs hook addresses: a list of kid:secret, the first signs, all verify.
     *
     * `callbacks.secret`, variable `BUSGATE_CALLBACKS_SECRET`. A secret.
     */
    readonly secret?: GivenValues['callbacks.secret'] | undefined
    /** The file that holds `callbacks.secret`. */
    readonly secretFile?: string | undefined
    /**
     * Longest hook address; correlation is left out of one that would be longer.
     *
     * `callbacks.urlMaxLength`, variable `BUSGATE_CALLBACKS_URL_MAX_LENGTH`. Default: `255`.
     */
    readonly urlMaxLength?: GivenValues['callbacks.urlMaxLength'] | undefined
    /**
     * How long a hook address is good for.
     *
     * `callbacks.tokenLifeMs`, variable `BUSGATE_CALLBACKS_TOKEN_LIFE_MS`. Default: `2592000000`.
     */
    readonly tokenLifeMs?: GivenValues['callbacks.tokenLifeMs'] | undefined
    /**
     * Most connections of the receiver; beyond, the one that has not finished a request for longest is closed.
     *
     * `callbacks.connections`, variable `BUSGATE_CALLBACKS_CONNECTIONS`. Default: `2048`.
     */
    readonly connections?: GivenValues['callbacks.connections'] | undefined
    /**
     * Memory for the bodies of callbacks that are not answered yet, in bytes. Beyond, those that are unfinished for longest are given up, and what still finds no room is answered 503.
     *
     * `callbacks.inFlightBytes`, variable `BUSGATE_CALLBACKS_IN_FLIGHT_BYTES`. Default: `16777216`.
     */
    readonly inFlightBytes?: GivenValues['callbacks.inFlightBytes'] | undefined
    /**
     * Longest body of a callback.
     *
     * `callbacks.bodyBytes`, variable `BUSGATE_CALLBACKS_BODY_BYTES`. Default: `65536`.
     */
    readonly bodyBytes?: GivenValues['callbacks.bodyBytes'] | undefined
    /**
     * How long the headers of a request may take to arrive.
     *
     * `callbacks.headersMs`, variable `BUSGATE_CALLBACKS_HEADERS_MS`. Default: `5000`.
     */
    readonly headersMs?: GivenValues['callbacks.headersMs'] | undefined
    /**
     * How long a whole request may take to arrive.
     *
     * `callbacks.requestMs`, variable `BUSGATE_CALLBACKS_REQUEST_MS`. Default: `10000`.
     */
    readonly requestMs?: GivenValues['callbacks.requestMs'] | undefined
    /**
     * How long a connection is kept between two requests; proxies should close theirs before.
     *
     * `callbacks.keepAliveMs`, variable `BUSGATE_CALLBACKS_KEEP_ALIVE_MS`. Default: `65000`.
     */
    readonly keepAliveMs?: GivenValues['callbacks.keepAliveMs'] | undefined
  } | undefined
  /** How missing verdicts are asked for. */
  readonly reconciler?: {
    /**
     * How far behind the results the reconciler walks, and how often it looks at a message whose verdict is missing.
     *
     * `reconciler.delayMs`, variable `BUSGATE_RECONCILER_DELAY_MS`. Default: `900000`.
     */
    readonly delayMs?: GivenValues['reconciler.delayMs'] | undefined
    /**
     * How long after sending a verdict is waited for before the gateway is asked; never longer than the message lives.
     *
     * `reconciler.expectMs`, variable `BUSGATE_RECONCILER_EXPECT_MS`. Default: `900000`.
     */
    readonly expectMs?: GivenValues['reconciler.expectMs'] | undefined
    /** Like reconciler.expectMs, for one type alone. */
    readonly expect?: {
      readonly [T in SendType]?: GivenValues['reconciler.expect.TYPE'] | undefined
    } | undefined
    /**
     * How long after the end of its life a message without a verdict is given up, with a final status UNKNOWN.
     *
     * `reconciler.graceMs`, variable `BUSGATE_RECONCILER_GRACE_MS`. Default: `3600000`.
     */
    readonly graceMs?: GivenValues['reconciler.graceMs'] | undefined
    /**
     * Status polls a second that the reconciler may use of each account, over the whole fleet; taken off the rate that workers use. Required by the reconciler for accounts with a rate; 10 for the others.
     *
     * `reconciler.rate`, variable `BUSGATE_RECONCILER_RATE`. No default; an example: `5`.
     */
    readonly rate?: GivenValues['reconciler.rate'] | undefined
  } | undefined
  /** Metrics, readiness and logs. */
  readonly telemetry?: {
    /**
     * Port of /metrics, /healthz and /readyz; 0: any free one.
     *
     * `telemetry.port`, variable `BUSGATE_TELEMETRY_PORT`. Default: `9464`.
     */
    readonly port?: GivenValues['telemetry.port'] | undefined
    /**
     * Address the telemetry server listens on, as callbacks.host.
     *
     * `telemetry.host`, variable `BUSGATE_TELEMETRY_HOST`. Default: `::`.
     */
    readonly host?: GivenValues['telemetry.host'] | undefined
    /**
     * Least serious level that is logged.
     *
     * `telemetry.logLevel`, variable `BUSGATE_TELEMETRY_LOG_LEVEL`. Default: `info`.
     */
    readonly logLevel?: GivenValues['telemetry.logLevel'] | undefined
  } | undefined
  /**
   * Which parts this process runs.
   *
   * `roles`, variable `BUSGATE_ROLES`. Default: `worker,callbacks`.
   */
  readonly roles?: GivenValues['roles'] | undefined
}
