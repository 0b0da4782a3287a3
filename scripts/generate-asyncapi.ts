/**
 * Writes docs/asyncapi.yaml from schemas/*.avsc and the topics' defaults.
 */
import { stringify } from 'yaml'
import { planTopics } from '../src/cli/topics/plan.ts'
import { loadSettings, type TopicUse } from '../src/config/index.ts'
import { version } from '../src/package.ts'
import { errorHeaders } from '../src/records/dead-letter.ts'
import { hookHeader, lifetimeHeader } from '../src/records/result.ts'
import { schemas } from '../src/records/schemas.ts'
import { writeGenerated } from './generated-file.ts'

const header = '# Made by scripts/generate-asyncapi.ts from schemas/*.avsc: change those and run npm run generate.\n'

const text = (description: string) => ({ type: 'string', description })

const traceHeaders = {
  traceparent: text('W3C trace context, carried from a command to its results and status events.'),
  tracestate: text('Likewise, at most 512 characters.'),
}

/** What a dead letter's headers say; docs/headers.md has more. A callback has no place. */
const errorTexts: Record<keyof typeof errorHeaders, string> = {
  stage: 'Where it could not be read: decode, as a record of a topic; callback, as the body of a callback.',
  code: 'Why, e.g. TRUNCATED or SCHEMA_NOT_FOUND.',
  message: 'Why, for a person.',
  topic: 'Where the record stood: its topic.',
  partition: 'Its partition.',
  offset: 'Its offset; of a batch that could not be read, the first one.',
  lastOffset: 'The last offset, where the letter stands for more than one record.',
  timestamp: 'The timestamp of the record, or when the callback came, milliseconds since 1970; -1: none.',
  key: 'none: the key of the letter is the place of the record, which had no key, or one that is too large.',
}

const avro = (schema: object) => ({ schemaFormat: 'application/vnd.apache.avro+json;version=1.9.0', schema })

/** Confluent's wire format, with the id of the command as the key. */
const record = (schema: { name: string; doc: string }, headers: object) => ({
  name: schema.name,
  title: schema.name,
  summary: schema.doc,
  contentType: 'application/vnd.confluent.avro',
  headers: { type: 'object', properties: headers },
  payload: avro(schema),
  bindings: {
    kafka: {
      key: { type: 'string', pattern: '^[1-9][0-9]{0,18}$', description: 'The id of the command in decimal digits.' },
      schemaIdLocation: 'payload',
      schemaIdPayloadEncoding: 'confluent',
      schemaLookupStrategy: 'TopicNameStrategy',
      bindingVersion: '0.5.0',
    },
  },
})

const messages = {
  SendCommand: record(schemas.command, traceHeaders),
  SendResult: record(schemas.result, {
    ...traceHeaders,
    [hookHeader]: { const: 'none', description: 'The message went without an address of its own for callbacks.' },
    [lifetimeHeader]: text('For how many seconds the message may be tried.'),
  }),
  StatusEvent: record(schemas.status, traceHeaders),
  DeadLetter: {
    name: 'DeadLetter',
    title: 'DeadLetter',
    summary: 'A record that could not be read: its bytes, key and headers as they were.',
    contentType: 'application/octet-stream',
    headers: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(errorHeaders).map(([name, header]) => [
          header,
          text(errorTexts[name as keyof typeof errorTexts]),
        ]),
      ),
    },
  },
}

interface Channel {
  message: keyof typeof messages
  /** What busgate does there. */
  action: 'receive' | 'send'
  description: string
}

/** The channel of each public use of a topic; doubts and overdue messages are busgate's own. */
const channelsByUse: Partial<Record<TopicUse, Channel>> = {
  commands: {
    message: 'SendCommand',
    action: 'receive',
    description:
      'A lane of commands, with murmur2 of the key as partitioner. The first of topics.commands is the most urgent.',
  },
  results: {
    message: 'SendResult',
    action: 'send',
    description: 'What became of commands, written in transactions: to be read with isolation.level=read_committed.',
  },
  statuses: { message: 'StatusEvent', action: 'send', description: 'Delivery statuses of messages that were sent.' },
  deadLetters: { message: 'DeadLetter', action: 'send', description: 'Records and callbacks that could not be read.' },
}

function document(): object {
  const channels: Record<string, object> = {}
  const operations: Record<string, object> = {}
  for (const { topic, use, config } of planTopics(loadSettings({ env: {} }), { existing: new Map(), nodes: 3 })) {
    const channel = channelsByUse[use]
    if (channel === undefined) continue
    const { message, action, description } = channel
    channels[topic] = {
      address: topic,
      description,
      messages: { [message]: { $ref: `#/components/messages/${message}` } },
      bindings: {
        kafka: {
          topic,
          topicConfiguration: {
            'cleanup.policy': [config['cleanup.policy']],
            'retention.ms': Number(config['retention.ms']),
          },
          bindingVersion: '0.5.0',
        },
      },
    }
    operations[`${action}.${topic}`] = {
      action,
      channel: { $ref: `#/channels/${topic}` },
      messages: [{ $ref: `#/channels/${topic}/messages/${message}` }],
    }
  }
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'busgate',
      version,
      description:
        'From an event bus to a multi-channel messaging gateway: commands in, results and delivery statuses out. ' +
        'Actions are those of busgate: producers of commands do the opposite. See producers.md.',
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/vnd.confluent.avro',
    channels,
    operations,
    components: { messages },
  }
}

writeGenerated('docs/asyncapi.yaml', header + stringify(document(), { lineWidth: 0, aliasDuplicateObjects: false }))
