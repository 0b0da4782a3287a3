import { Consumer, Producer } from '@platformatic/kafka'
import avsc from 'avsc'
import pLimit from 'p-limit'
import { Pool } from 'undici'
import type { Job } from './peers/job.ts'

/**
 * The benchmark's job as a bare loop without any guarantee: no intents, no checks, no rate, no order, no retries, and requests
 * in flight are lost at its end. Its cost is that of reading, HTTP and writing in Node.
 */
const job = JSON.parse(process.argv[2]!) as Job

interface Command {
  id: number
  phone: number
  message: { 'io.busgate.Sms': { sms_message: string; sms_signature: string } }
}

interface Answer {
  data: { success: boolean; data: { id: number; msg_id: string; parts: number } }[]
}

const common = { clientId: 'floor', bootstrapBrokers: [...job.brokers] }
const producer = new Producer<Buffer, Buffer, Buffer, Buffer>(common)
const consumer = new Consumer<Buffer, Buffer, Buffer, Buffer>({ ...common, groupId: job.group })
const gateway = new Pool(new URL(job.url).origin, { connections: job.inFlight })
const path = new URL(job.url).pathname
const headers = { 'content-type': 'application/json' }
const limit = pLimit(job.inFlight)
const types = new Map<number, avsc.Type>()
let envelope: string[] = []
let lingerTimer: NodeJS.Timeout | undefined
const results: { topic: string; key: Buffer; value: Buffer }[] = []
let producing: Promise<void> | undefined

async function typeOf(schemaId: number): Promise<avsc.Type> {
  const answer = await fetch(`${job.registryUrl}/schemas/ids/${schemaId}`)
  const { schema } = (await answer.json()) as { schema: string }
  const type = avsc.Type.forSchema(JSON.parse(schema))
  types.set(schemaId, type)
  return type
}

function add(type: avsc.Type, value: Buffer): void {
  const { id, phone, message } = type.fromBuffer(value.subarray(5)) as Command
  const { sms_message, sms_signature } = message['io.busgate.Sms']
  envelope.push(JSON.stringify({ type: 'sms', id, phone, sms_message, sms_signature }))
  if (envelope.length === job.envelope) sendEnvelope()
  else lingerTimer ??= setTimeout(sendEnvelope, job.lingerMs)
}

function sendEnvelope(): void {
  clearTimeout(lingerTimer)
  lingerTimer = undefined
  const body = `{"auth":"a-key","data":[${envelope.join()}]}`
  envelope = []
  void limit(() => post(body)).then(addResults)
}

async function post(body: string): Promise<Answer> {
  const answer = await gateway.request({ method: 'POST', path, headers, body })
  return (await answer.body.json()) as Answer
}

function addResults({ data }: Answer): void {
  for (const { success, data: sent } of data) {
    const { id, msg_id, parts } = sent
    results.push({
      topic: job.results,
      key: Buffer.from(String(id)),
      value: Buffer.from(JSON.stringify({ id, outcome: success ? 'SENT' : 'REJECTED', msgId: msg_id, parts })),
    })
  }
  producing ??= produce()
}

/** Results in one batch: brokers accept at most 1 MB. */
const maxBatch = 5_000

/** Produces one batch at a time, with all results that arrived during the previous one. */
async function produce(): Promise<void> {
  while (results.length > 0) await producer.send({ messages: results.splice(0, maxBatch) })
  producing = undefined
}

const commands = await consumer.consume({ topics: [...job.commands], mode: 'earliest', autocommit: true })
for await (const { value } of commands) {
  const schemaId = value.readInt32BE(1)
  add(types.get(schemaId) ?? (await typeOf(schemaId)), value)
  while (limit.pendingCount > job.inFlight) await limit(() => {})
  while (results.length > 2 * job.inFlight * job.envelope) await producing
}
