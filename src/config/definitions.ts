import type { z } from 'zod'
import { codePlaces, errorCodes, policies, roles } from '../vocabulary/lists.ts'
import * as kind from './kinds.ts'

/**
 * A setting: its validation, its default as a user would write it, an example, and a sentence of documentation. The
 * variables' names, docs/settings.md and the chart's schema are derived from this table. NAME stands for an account's name,
 * TYPE for a message type. A secret may also be given by its twin `…File`.
 */
export interface Setting {
  type: z.ZodType
  default: string | number | boolean | undefined
  example: string
  doc: string
  secret: boolean
}

function setting<T extends z.ZodType>(type: T, fallback: string | number | boolean, doc: string) {
  return { type, default: fallback, example: String(fallback), doc, secret: false } as const
}

function optional<T extends z.ZodType>(type: T, example: string, doc: string) {
  return { type, default: undefined, example, doc, secret: false } as const
}

function secret<T extends z.ZodType>(type: T, example: string, doc: string) {
  return { type, default: undefined, example, doc, secret: true } as const
}

const policy = kind.choice(policies)
/** An envelope cannot exceed the window of a partition. */
const longestEnvelope = 8192
/** The header of a joined SMS counts its parts in one byte. */
const mostParts = 255
const day = 24 * 3_600_000

// biome-ignore format: a table, one setting a row
export const definitions = {
  'kafka.brokers': optional(kind.brokers, 'broker-1:9092,broker-2:9092', 'Bootstrap brokers, or the word embedded for the bus inside the process.'),
  'kafka.clientId': setting(kind.text, 'busgate', 'Client id in the logs and quotas of the brokers.'),
  'kafka.groupId': setting(kind.text, 'busgate', 'Consumer group of all workers of the command topics, and the prefix of the transactional ids. A second group on these topics sends every command again. Its processes have the same gateway and topics; command topics may differ in an update.'),
  'kafka.sessionTimeoutMs': setting(kind.integer(1, 3_600_000), 10_000, 'Session time-out: without a heartbeat for this long, a member loses its partitions.'),
  'kafka.startFrom': setting(kind.choice(['earliest', 'latest', 'fail']), 'fail', 'Where to begin on a topic for which the group has no committed offset. fail: refuse to start unless the topic is empty. Set another value for one start only: it also accepts that the progress of the group was lost.'),
  'kafka.compression': setting(kind.choice(['none', 'gzip', 'zstd']), 'gzip', 'Compression of the records that busgate writes. Every Kafka client reads gzip; zstd takes half the CPU, but kafkajs and some others need an extra codec for it.'),
  'kafka.instanceId': optional(kind.text, 'busgate-0', 'Makes this process a static member of its group: if it returns within kafka.sessionTimeoutMs, it keeps its partitions without a rebalance. Until then its partitions wait for it. Must be unique in the group.'),
  'kafka.rack': optional(kind.text, 'zone-a', 'Rack of this process, as in broker.rack of nearby brokers: it reads from replicas there, if the brokers have a replica.selector.class.'),
  'kafka.ssl': setting(kind.flag, false, 'Whether to use TLS to the brokers; setting kafka.ssl.ca, .cert or .key turns it on too.'),
  'kafka.ssl.ca': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'CA certificates, in PEM, for the brokers; replace those that Node.js trusts.'),
  'kafka.ssl.cert': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'Client certificate for the brokers, in PEM.'),
  'kafka.ssl.key': secret(kind.secretText, '-----BEGIN PRIVATE KEY-----…', 'Private key, in PEM, of kafka.ssl.cert.'),
  'kafka.sasl.mechanism': optional(kind.choice(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer']), 'scram-sha-512', 'SASL mechanism for the brokers.'),
  'kafka.sasl.username': optional(kind.text, 'busgate', 'User at the brokers.'),
  'kafka.sasl.password': secret(kind.secretText, 'a-password', 'Password at the brokers.'),
  'kafka.sasl.tokenEndpoint': optional(kind.httpUrl, 'https://login.example/oauth2/token', 'OAuth token endpoint for oauthbearer (client credentials grant).'),
  'kafka.sasl.clientId': optional(kind.text, 'busgate', 'OAuth client id.'),
  'kafka.sasl.clientSecret': secret(kind.secretText, 'a-client-secret', 'OAuth client secret.'),
  'kafka.sasl.scope': optional(kind.text, 'kafka', 'OAuth scope, if the token endpoint requires one.'),
  'kafka.sasl.audience': optional(kind.text, 'https://kafka.example', 'OAuth audience, if the token endpoint requires one, such as that of Auth0.'),
  'kafka.sasl.resource': optional(kind.text, 'api://kafka', 'OAuth resource, if the token endpoint requires one (RFC 8707), such as that of AD FS.'),
  'kafka.sasl.extensions': optional(kind.saslExtensions, '{"logicalCluster":"lkc-1","identityPoolId":"pool-1"}', 'SASL extensions for oauthbearer (KIP-342), such as those of Confluent Cloud.'),

  'registry.url': optional(kind.baseUrl, 'http://registry:8081', 'Confluent-compatible schema registry; required unless the bus is embedded.'),
  'registry.ssl.ca': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'CA certificates, in PEM, for the registry; replace those that Node.js trusts.'),
  'registry.ssl.cert': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'Client certificate for the registry, in PEM.'),
  'registry.ssl.key': secret(kind.secretText, '-----BEGIN PRIVATE KEY-----…', 'Private key, in PEM, of registry.ssl.cert.'),
  'registry.token': secret(kind.secretText, 'a-token', 'Bearer token for the registry, instead of user and password.'),
  'registry.username': optional(kind.text, 'busgate', 'User at the registry.'),
  'registry.password': secret(kind.secretText, 'a-password', 'Password at the registry.'),

  'topics.commands': setting(kind.list(kind.topic), 'busgate.commands.otp,busgate.commands', 'Topics of commands, the most urgent first.'),
  'topics.results': setting(kind.topic, 'busgate.results', 'Topic of results.'),
  'topics.statuses': setting(kind.topic, 'busgate.statuses', 'Topic of status events.'),
  'topics.deadLetters': setting(kind.topic, 'busgate.dead-letters', 'Topic of records that cannot be read.'),
  'topics.doubts': setting(kind.topic, 'busgate.doubts', 'Topic of commands in doubt: perhaps sent.'),
  'topics.control': setting(kind.topic, 'busgate.control', 'Topic of pauses and withdrawals.'),
  'topics.history': setting(kind.topic, 'busgate.history', 'Topic of who paused, resumed, withdrew and replayed what.'),
  'topics.later': setting(kind.topic, 'busgate.later', 'Topic of commands that wait for their time, or for the end of a pause.'),
  'topics.overdue': setting(kind.topic, 'busgate.overdue', 'Topic of messages whose verdict is missing; only the reconciler uses it.'),
  'topics.workers': setting(kind.topic, 'busgate.workers', 'Topic on which each process reports its state, and what holds commands back.'),

  'gateway.url': optional(kind.gatewayUrl, 'https://gateway.example', 'Base address of the gateway; /api/json.php is appended.'),
  'gateway.ssl.ca': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'CA certificates, in PEM, for the gateway; replace those that Node.js trusts.'),
  'gateway.apiKey': secret(kind.secretText, 'an-api-key', 'API key of the account named default.'),
  'gateway.accounts.NAME.apiKey': secret(kind.secretText, 'an-api-key', 'API key of a further account.'),
  'gateway.accounts.NAME.rate': optional(kind.aboveZero, '50', 'Replaces gateway.rate for this account.'),
  'gateway.accounts.NAME.quietHours': optional(kind.quietHours, 'Sat-Sun 00:00-24:00 Europe/Kyiv', 'Replaces gateway.quietHours for this account.'),
  'gateway.accounts.NAME.countries': optional(kind.countries, 'UA', 'Replaces gateway.countries for this account.'),
  'gateway.accounts.NAME.maxParts': optional(kind.integer(1, mostParts), '2', 'Replaces gateway.maxParts for this account.'),
  'gateway.quietHours': optional(kind.quietHours, '21:00-09:00 Europe/Kyiv', 'When only commands of the most urgent topic are sent. Deadlines and commands.maxAgeMs of the others continue. Days, Mon to Sun, are those on which the quiet hours begin.'),
  'gateway.countries': optional(kind.countries, 'UA,PL', 'Countries to send to. A command to another one, or to a number without a known country, is INVALID with errorCode COUNTRY. Default: all.'),
  'gateway.maxParts': optional(kind.integer(1, mostParts), '3', 'Most parts of an SMS, also as a stage of a chain. A command that needs more is INVALID with errorCode PARTS. Default: no limit.'),
  'gateway.tenantWeights': optional(kind.map(kind.integer(1, 100)), '{"shop-a":3}', 'Weights by which tenants share an envelope while others of the account wait. Default: 1.'),
  'gateway.rate': optional(kind.aboveZero, '50', 'Rate limit of an account over the whole fleet, in operations a second, status polls included. Each process gets a share by its partitions. Shares are rounded down: 1.5 a second means at most one operation in each second; 0.5 one in two seconds.'),
  'gateway.errorTexts': optional(kind.map(kind.choice(errorCodes)), '{"No such sender":"SENDER_INVALID"}', 'Error codes for further error texts of the gateway.'),
  'gateway.notFoundTexts': optional(kind.list(kind.text), 'Message not found', 'Error texts by which the gateway says that it does not know an id. Give one with a comma in the file.'),
  'gateway.voiceHook': setting(kind.flag, true, "Whether voice gets a hook; the specification does not say. If false, its statuses are expected at the account's address."),
  'gateway.allowEmpty': setting(kind.flag, false, 'Whether a message without any text, image, link or carousel may be sent; otherwise its command is INVALID.'),
  'gateway.balanceIntervalMs': setting(kind.milliseconds, 300_000, 'How often the balance is read; 0: only at the start, until the gateway accepts a key and has answered each account.'),
  'gateway.maxOperations': setting(kind.integer(1, longestEnvelope), 100, 'Most operations in an envelope.'),
  'gateway.maxBytes': setting(kind.integer(1024, 64 * 1024 * 1024), 262_144, 'Longest body of an envelope, in bytes.'),
  'gateway.lingerMs': setting(kind.milliseconds, 20, 'Longest wait for an envelope to fill, counted from the append of its first command.'),
  'gateway.concurrency': setting(kind.integer(1, 1024), 16, 'Concurrent requests of one process. One of them is reserved for the most urgent topic. With several accounts, some stay free of slow ones.'),
  'gateway.timeoutMs': setting(kind.integer(1, 600_000), 30_000, 'Longest wait for an answer of the gateway.'),
  'gateway.keepAliveMs': setting(kind.integer(1, 600_000), 500, 'How long an idle connection to the gateway is kept; its Keep-Alive header can shorten this. Set it below the idle time-out of the gateway: a request on a connection that is being closed is in doubt.'),

  'sealing.keys': secret(kind.sealingKeys, '{"keys":[{"kid":"2611x7q4","kty":"OKP","crv":"X25519","x":"hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo","d":"dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo"}]}', 'Private keys that open sealed content: a JWK Set, as busgate keys create writes it. Give it as a file, which is read again when it changes.'),
  'sealing.required': optional(kind.list(kind.account), 'default', 'Accounts whose content must be sealed: any other command of theirs is INVALID with errorCode SEAL, except call/otp and hlr, which have no content.'),

  'commands.maxAgeMs': setting(kind.longMilliseconds, day, 'Older commands expire. Keep it below offsets.retention.minutes of the brokers.'),
  'commands.horizonMs': setting(kind.longMilliseconds, 7 * day, 'How far ahead notBefore of a command may be. One further ahead is INVALID.'),
  'commands.maxInFlight': optional(kind.integer(2, 1_000_000), '6400', 'Most commands of one process that are sent, or about to be, without a committed result: the most that a kill leaves in doubt. Default: 2 × gateway.concurrency × gateway.maxOperations, at least 6,400.'),

  'doubts.policy': setting(policy, 'AT_LEAST_ONCE', 'What to do with a message in doubt after its last poll: AT_LEAST_ONCE sends it again, AT_MOST_ONCE gives it up. For types without a policy of their own.'),
  'doubts.policies.TYPE': optional(policy, 'AT_MOST_ONCE', 'Policy of one type. Default: AT_MOST_ONCE for telegram, call/otp and hlr.'),
  'doubts.waitMs': setting(kind.milliseconds, 60_000, 'How long to wait, beyond gateway.timeoutMs, before the status of a request in doubt is polled. Together they must be above kafka.sessionTimeoutMs (or 10,000, if that is less).'),
  'doubts.polls': setting(kind.integer(1, 1000), 3, 'How many answered status polls resolve a doubt; they are a third of doubts.waitMs apart.'),
  'doubts.maxAttempts': setting(kind.integer(1, 1000), 3, 'Most requests for one command under AT_LEAST_ONCE.'),

  'results.otpCode': setting(kind.choice(codePlaces), 'result', 'Where the one-time password of a call/otp goes. result: the field code of its result. header: the header busgate.code of its result, so that sinks that store values do not store it. none: nowhere.'),

  'callbacks.port': setting(kind.port, 8080, 'Port of the callback receiver; 0: any free one.'),
  'callbacks.host': setting(kind.text, '::', 'Address the callback receiver listens on; :: means all IPv4 and IPv6 addresses.'),
  'callbacks.publicUrl': optional(kind.baseUrl, 'https://hooks.example', 'Address at which the gateway reaches the receiver. Without it, messages get no hook.'),
  'callbacks.secret': secret(kind.signingKeys, 'k1:at-least-16-characters', 'Secrets of hook addresses, each as kid:secret. The first creates addresses; all are accepted.'),
  'callbacks.urlMaxLength': setting(kind.integer(64, 8192), 255, 'Longest hook address, in characters; a longer one leaves out correlationId, tenant and campaign.'),
  'callbacks.keepAliveMs': setting(kind.integer(1, 3_600_000), 65_000, 'How long an idle connection is kept. Set it above the idle time-out of proxies in front.'),

  'reconciler.expectMs': setting(kind.longMilliseconds, 900_000, "How long after sending the reconciler waits for a verdict before it polls, at most until the end of the message's lifetime. The shortest of these times, at most 15 minutes, is how far behind now it reads results."),
  'reconciler.expect.TYPE': optional(kind.longMilliseconds, '300000', 'Replaces reconciler.expectMs for one type.'),
  'reconciler.graceMs': setting(kind.longMilliseconds, 3_600_000, 'How long after its lifetime a message without a verdict is given up, with a final status UNKNOWN.'),
  'reconciler.rate': optional(kind.aboveZero, '5', 'Status polls a second of the reconciler for each account, over the whole fleet. Workers leave this part of the rate free. Required for accounts with a rate; default for the others: 10.'),

  'telemetry.port': setting(kind.port, 9464, 'Port of /metrics, /healthz and /readyz; 0: any free one.'),
  'telemetry.host': setting(kind.text, '::', 'Address the telemetry server listens on; :: means all IPv4 and IPv6 addresses.'),
  'telemetry.logLevel': setting(kind.choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), 'info', 'Lowest level that is logged.'),

  'roles': setting(kind.list(kind.choice(roles)), 'worker,callbacks', 'Roles that this process runs. The role callbacks is off without callbacks.secret.'),
} satisfies Record<string, Setting>

export type SettingPath = keyof typeof definitions
