import type { z } from 'zod'
import { codePlaces, errorCodes, policies, roles } from '../protocol/index.ts'
import * as kind from './kinds.ts'

/**
 * Every setting, once: how it is checked, its default as a user would write it, an example, a sentence of documentation.
 * The checks, the variables' names and the chart's schema of its settings all come from here.
 * NAME stands for an account's name, TYPE for a type of message. A secret may be given by its twin `…File` as well.
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
/** The window of a partition is 8,192 offsets long, so no envelope can hold more. */
const longestEnvelope = 8192
const day = 24 * 3_600_000

// biome-ignore format: a table, one setting a row
export const definitions = {
  'kafka.brokers': optional(kind.brokers, 'broker-1:9092,broker-2:9092', 'Brokers to start from, or the word embedded for the bus inside the process.'),
  'kafka.clientId': setting(kind.text, 'busgate', 'Name of this program in the logs and quotas of the brokers.'),
  'kafka.groupId': setting(kind.text, 'busgate', 'Consumer group, and the prefix of the transactional ids.'),
  'kafka.sessionTimeoutMs': setting(kind.integer(1, 3_600_000), 10_000, 'Without a heartbeat for this long, a member loses its partitions.'),
  'kafka.rebalanceTimeoutMs': setting(kind.integer(1, 3_600_000), 30_000, 'How long a rebalance waits for a member to join again.'),
  'kafka.drainMs': optional(kind.integer(1, 3_600_000), '9000', 'How long a rebalance waits for requests in flight; what is answered later is in doubt. The group stands still meanwhile, so it is for as long as the slowest answer takes. Unless set nine tenths of kafka.sessionTimeoutMs, and gateway.timeoutMs at most.'),
  'kafka.startFrom': setting(kind.choice(['earliest', 'latest', 'fail']), 'fail', 'Where to begin on a topic of which the group has no checkpoint; fail: only if it is empty.'),
  'kafka.onDataLoss': setting(kind.choice(['continue', 'fail']), 'continue', 'Whether to go on when records that were not worked on yet are gone from the log, by retention or an unclean election.'),
  'kafka.compression': setting(kind.choice(['none', 'gzip', 'zstd']), 'gzip', 'Compression of what busgate writes to Kafka. Every Kafka client reads gzip; zstd costs half as much, and kafkajs and some others need a codec for it.'),
  'kafka.instanceId': optional(kind.text, 'busgate-0', 'Makes this process a static member of its group: one that is back within kafka.sessionTimeoutMs finds its partitions, and the others do not notice. It does not leave the group when it stops, so its partitions wait for it so long. No two processes may have the same.'),
  'kafka.rack': optional(kind.text, 'zone-a', 'Where this process is, as broker.rack of the brokers that are near: it reads from replicas there, if they have a replica.selector.class.'),
  'kafka.ssl': setting(kind.flag, false, 'Whether to speak TLS to the brokers; any of kafka.ssl.ca, .cert and .key says so, too.'),
  'kafka.ssl.ca': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'Certificates, in PEM, of who may vouch for the brokers, in place of those that Node trusts.'),
  'kafka.ssl.cert': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'Certificate, in PEM, that tells the brokers who this program is.'),
  'kafka.ssl.key': secret(kind.secretText, '-----BEGIN PRIVATE KEY-----…', 'Private key, in PEM, of kafka.ssl.cert.'),
  'kafka.sasl.mechanism': optional(kind.choice(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer']), 'scram-sha-512', 'How to sign in at the brokers.'),
  'kafka.sasl.username': optional(kind.text, 'busgate', 'User at the brokers.'),
  'kafka.sasl.password': secret(kind.secretText, 'a-password', 'Password at the brokers.'),
  'kafka.sasl.tokenEndpoint': optional(kind.httpUrl, 'https://login.example/oauth2/token', 'Where oauthbearer gets its tokens, as a client with credentials of its own.'),
  'kafka.sasl.clientId': optional(kind.text, 'busgate', 'Client at the token endpoint.'),
  'kafka.sasl.clientSecret': secret(kind.secretText, 'a-client-secret', 'Secret of that client.'),
  'kafka.sasl.scope': optional(kind.text, 'kafka', 'What the token is asked for, if the endpoint wants to be told.'),

  'registry.url': optional(kind.baseUrl, 'http://registry:8081', 'Confluent-compatible schema registry; required unless the bus is embedded.'),
  'registry.ssl.ca': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'Certificates, in PEM, of who may vouch for the registry, in place of those that Node trusts.'),
  'registry.ssl.cert': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'Certificate, in PEM, that tells the registry who this program is.'),
  'registry.ssl.key': secret(kind.secretText, '-----BEGIN PRIVATE KEY-----…', 'Private key, in PEM, of registry.ssl.cert.'),
  'registry.token': secret(kind.secretText, 'a-token', 'Bearer token for the registry, in place of user and password.'),
  'registry.username': optional(kind.text, 'busgate', 'User at the registry.'),
  'registry.password': secret(kind.secretText, 'a-password', 'Password at the registry.'),

  'topics.commands': setting(kind.list(kind.topic), 'busgate.commands.otp,busgate.commands', 'Topics of commands, the most urgent first.'),
  'topics.results': setting(kind.topic, 'busgate.results', 'Topic of results.'),
  'topics.statuses': setting(kind.topic, 'busgate.statuses', 'Topic of status events.'),
  'topics.deadLetters': setting(kind.topic, 'busgate.dead-letters', 'Topic of records that cannot be read.'),
  'topics.doubts': setting(kind.topic, 'busgate.doubts', 'Topic of commands of which nobody can tell whether they were sent.'),
  'topics.control': setting(kind.topic, 'busgate.control', 'Topic of what operators have paused or withdrawn.'),
  'topics.overdue': setting(kind.topic, 'busgate.overdue', 'Topic of messages whose verdict is missing; only the reconciler uses it.'),

  'gateway.url': optional(kind.baseUrl, 'https://gateway.example', 'Base address of the gateway; /api/json.php is appended.'),
  'gateway.ssl.ca': secret(kind.secretText, '-----BEGIN CERTIFICATE-----…', 'Certificates, in PEM, of who may vouch for the gateway, in place of those that Node trusts.'),
  'gateway.apiKey': secret(kind.secretText, 'an-api-key', 'API key of the account named default.'),
  'gateway.accounts.NAME.apiKey': secret(kind.secretText, 'an-api-key', 'API key of a further account.'),
  'gateway.accounts.NAME.rate': optional(kind.aboveZero, '50', 'Like gateway.rate, for this account alone.'),
  'gateway.accounts.NAME.quietHours': optional(kind.list(kind.quietWindow), 'Sat-Sun 00:00-24:00 Europe/Kyiv', 'Like gateway.quietHours, for this account alone and in their place.'),
  'gateway.quietHours': optional(kind.list(kind.quietWindow), '21:00-09:00 Europe/Kyiv', 'When nothing is sent but commands of the most urgent topic: no request for others begins then. Their deadlines and delivery.maxAgeMs go on. Days, from Mon to Sun, are those on which the quiet hours begin.'),
  'gateway.tenantWeights': optional(kind.map(kind.integer(1, 100)), '{"shop-a":3}', 'Parts of an envelope that tenants may have, while others of their account wait; 1 unless set. In a variable a JSON object.'),
  'gateway.rate': optional(kind.aboveZero, '50', 'Operations a second that an account may use over the whole fleet, status polls included. Whole operations count: a process whose share is 1.5 sends 1 in any second, and one with 0.5 sends 1 in any two.'),
  'gateway.asyncUrl': optional(kind.httpUrl, 'https://gateway.example/v1/json', 'Full address of the asynchronous interface, its path included (library only).'),
  'gateway.errorTexts': optional(kind.map(kind.choice(errorCodes)), '{"No such sender":"SENDER_INVALID"}', 'Error codes for further texts of the gateway; in a variable a JSON object.'),
  'gateway.voiceHook': setting(kind.flag, true, 'Whether voice gets a hook. The specification does not list one among its fields, but takes additional properties, and returns the digit pressed by callback; with false its statuses are expected at the address of the account.'),
  'gateway.allowEmpty': setting(kind.flag, false, 'Whether a message without any text, image, link or carousel may be sent; otherwise its command is INVALID.'),
  'gateway.balanceIntervalMs': setting(kind.milliseconds, 300_000, 'How often the balance is asked for; 0: never.'),
  'gateway.maxOperations': setting(kind.integer(1, longestEnvelope), 100, 'Most operations in an envelope.'),
  'gateway.maxBytes': setting(kind.integer(1024, 64 * 1024 * 1024), 262_144, 'Longest body of an envelope, in bytes.'),
  'gateway.lingerMs': setting(kind.milliseconds, 20, 'Longest wait for an envelope to fill, counted from the append of its first command.'),
  'gateway.concurrency': setting(kind.integer(1, 1024), 8, 'Requests in flight in one process: what the gateway sees at a time. The last one is kept for the most urgent topic.'),
  'gateway.timeoutMs': setting(kind.integer(1, 600_000), 30_000, 'Longest wait for an answer of the gateway.'),
  'gateway.keepAliveMs': setting(kind.integer(1, 600_000), 500, 'How long a connection to the gateway stays open without a request; the Keep-Alive header of the gateway can shorten it. Set it below the idle time-out of the gateway: a request that meets the closing of its connection is in doubt.'),

  'delivery.default': setting(policy, 'AT_LEAST_ONCE', 'What to do when nobody can tell whether a message was sent, for types without a rule of their own.'),
  'delivery.types.TYPE': optional(policy, 'AT_MOST_ONCE', 'The rule of one type; AT_MOST_ONCE for telegram, call/otp and hlr unless set.'),
  'delivery.maxAgeMs': setting(kind.longMilliseconds, day, 'Older commands expire; keep it below offsets.retention of the brokers.'),
  'delivery.settleMs': setting(kind.milliseconds, 60_000, 'How long a request in doubt is left alone before its status is asked for.'),
  'delivery.polls': setting(kind.integer(1, 1000), 3, 'How many definite answers to a status poll settle a doubt.'),
  'delivery.pollIntervalMs': setting(kind.milliseconds, 20_000, 'Wait between two status polls.'),
  'delivery.attempts': setting(kind.integer(1, 1000), 3, 'Most requests for one command under AT_LEAST_ONCE.'),
  'delivery.notFoundErrors': optional(kind.list(kind.text), 'Message not found', 'Texts by which the gateway says that it does not know an id; one with a comma needs the file.'),
  'delivery.maxIntents': optional(kind.integer(2, 1_000_000), '6400', 'Most commands of one process that may have been sent and have no committed result yet, or are about to be sent: a kill leaves no more in doubt. Unless set 2 × gateway.concurrency × gateway.maxOperations, 6,400 at least.'),
  'delivery.dedupeWindow': setting(kind.integer(0, 10_000_000), 10_000, 'How many of its last ids a partition knows again; 0: none.'),
  'delivery.codes': setting(kind.choice(codePlaces), 'result', 'Where the one-time password of a call/otp goes: result, the field code of its result; header, the header busgate.code of its result, so that what stores values does not store it; none, nowhere.'),
  'delivery.checkResults': setting(kind.flag, true, 'Whether the results are read for what was answered before, where the committed offset carries no window (it was reset, or the group is new); false sends all of that again.'),

  'callbacks.port': setting(kind.port, 8080, 'Port of the callback receiver; 0: any free one.'),
  'callbacks.host': setting(kind.text, '::', 'Address the callback receiver listens on; :: is every one of IPv4 and IPv6, and of IPv4 alone where the machine has no IPv6.'),
  'callbacks.publicUrl': optional(kind.baseUrl, 'https://hooks.example', 'Address at which the gateway reaches the receiver; without it no hook is set.'),
  'callbacks.secret': secret(kind.signingKeys, 'k1:at-least-16-characters', 'Signs hook addresses: a list of kid:secret, the first signs, all verify.'),
  'callbacks.urlMaxLength': setting(kind.integer(64, 8192), 255, 'Longest hook address; correlation is left out of one that would be longer.'),
  'callbacks.tokenLifeMs': setting(kind.longMilliseconds, 30 * day, 'How long a hook address is good for.'),
  'callbacks.connections': setting(kind.integer(1, 1_000_000), 2048, 'Most connections of the receiver; beyond, the one that has not finished a request for longest is closed.'),
  'callbacks.inFlightBytes': setting(kind.integer(1024 * 1024, 2 ** 40), 16 * 1024 * 1024, 'Memory for the bodies of callbacks that are not answered yet, in bytes. Beyond, those that are unfinished for longest are given up, and what still finds no room is answered 503.'),
  'callbacks.bodyBytes': setting(kind.integer(1024, 16 * 1024 * 1024), 64 * 1024, 'Longest body of a callback.'),
  'callbacks.keepAliveMs': setting(kind.integer(1, 3_600_000), 65_000, 'How long a connection is kept between two requests; proxies should close theirs before.'),

  'reconciler.delayMs': setting(kind.longMilliseconds, 900_000, 'How far behind the results the reconciler walks, and how often it looks at a message whose verdict is missing.'),
  'reconciler.expectMs': setting(kind.longMilliseconds, 900_000, 'How long after sending a verdict is waited for before the gateway is asked; never longer than the message lives.'),
  'reconciler.expect.TYPE': optional(kind.longMilliseconds, '300000', 'Like reconciler.expectMs, for one type alone.'),
  'reconciler.graceMs': setting(kind.longMilliseconds, 3_600_000, 'How long after the end of its life a message without a verdict is given up, with a final status UNKNOWN.'),
  'reconciler.rate': optional(kind.aboveZero, '5', 'Status polls a second that the reconciler may use of each account, over the whole fleet; taken off the rate that workers use. Required by the reconciler for accounts with a rate; 10 for the others.'),

  'telemetry.port': setting(kind.port, 9464, 'Port of /metrics, /healthz and /readyz; 0: any free one.'),
  'telemetry.host': setting(kind.text, '::', 'Address the telemetry server listens on, as callbacks.host.'),
  'telemetry.logLevel': setting(kind.choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), 'info', 'Least serious level that is logged.'),

  'roles': setting(kind.list(kind.choice(roles)), 'worker,callbacks', 'Which parts this process runs.'),
} satisfies Record<string, Setting>

export type SettingPath = keyof typeof definitions
