import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { busgate } from '../support/cli.ts'
import {
  commandsOf,
  exampleEnvironment,
  type Language,
  languages,
  outputOf,
  prepare,
  runLine,
} from '../support/example-programs.ts'
import { describeOnKafka } from '../support/integration.ts'
import { openKafkajsProducer } from '../support/kafka.ts'
import { buildResult } from '../support/results.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { bytesOf } from '../support/sealing.ts'
import { buildStatusEvent } from '../support/status-events.ts'
import { startWorld, type World } from '../support/worker.ts'

/** The first download and build take a minute. */
const slow = { timeout: 240_000 }

/** The shell line of the README that sends the SMS, and the id in it. */
function sendingOf(language: Language): { line: string; id: bigint } {
  const line = commandsOf(language).at(-1)!
  return { line, id: BigInt(/(\d+) 380671234567/.exec(line)![1]!) }
}

/** None of them is a verdict on a message with its own hook. */
function misleadingEvents(id: bigint): StatusEvent[] {
  return [
    buildStatusEvent({ id: 2n ** 63n - 1n, status: 'UNDELIVERABLE' }),
    buildStatusEvent({ id, status: 'UNDELIVERABLE', account: 'another' }),
    buildStatusEvent({ id, status: 'UNDELIVERABLE', verified: false }),
    buildStatusEvent({ id, status: 'ACCEPTED' }),
  ]
}

/** A worker without callbacks.publicUrl. */
const withoutHooks = { callbacks: { publicUrl: undefined } }

const refused = buildResult({ outcome: 'REJECTED', errorCode: 'SENDER_INVALID', msgId: null })

describeOnKafka('producers in other languages', brokers => {
  /** Writes a result in a transaction, and aborts it. */
  async function abortResult(world: World, result: SendResult): Promise<void> {
    const topic = world.settings.topics.results
    const encode = await createEncoder<SendResult>(subjectOf(topic), schemas.result, world.registry)
    const options = { transactionalId: `${topic}-aborted`, idempotent: true, maxInFlightRequests: 1 }
    const transaction = await (await openKafkajsProducer(brokers.brokers, options)).transaction()
    await transaction.send({ topic, messages: [{ key: String(result.id), value: encode(result), partition: 0 }] })
    await transaction.abort()
  }

  async function publishStatuses(world: World, events: StatusEvent[]): Promise<void> {
    const topic = world.settings.topics.statuses
    const encode = await createEncoder<StatusEvent>(subjectOf(topic), schemas.status, world.registry)
    const producer = await openKafkajsProducer(brokers.brokers)
    const messages = events.map(event => ({ key: String(event.id), value: encode(event), partition: 0 }))
    await producer.send({ topic, messages })
  }

  test.for(languages)(
    '%s: a command gets one result, aborted ones are not read, and a repeated id ends DUPLICATE',
    slow,
    async (language, context) => {
      const env = await prepare(language, context)
      const world = await startWorld({ brokers, partitions: 4 })
      const { line, id } = sendingOf(language)
      await abortResult(world, refused)

      Object.assign(env, exampleEnvironment(brokers, world.settings))
      const send = () => outputOf(language, line, { env })
      const printed = await send()
      const [first] = await world.finished(1)
      expect(first).toMatchObject({ outcome: 'SENT', correlationId: `example-${language}` })
      expect(printed.stdout.replaceAll(/ +/g, ' ')).toBe(`${id} SENT ${first!.msgId}\n${id} DELIVERED\n`)
      expect(printed.stderr).not.toContain('SLF4J')

      expect((await send()).stdout).toBe(`${id} DUPLICATE DUPLICATE_ID\n`)
      await world.finished(2)
      await world.quiet()
      const [, second, ...more] = world.results()
      expect(second).toMatchObject({ outcome: 'DUPLICATE', commandPartition: first!.commandPartition })
      expect(more).toEqual([])
      expect(world.sandbox.executions(Number(first!.id))).toBe(1)
    },
  )

  test.for(languages)(
    '%s: a message that was in doubt is delivered when a verified event of its account says so, whatever others claim',
    slow,
    async (language, context) => {
      const env = await prepare(language, context)
      const world = await startWorld({ brokers })
      world.sandbox.faults.next('reset-after')
      const { line, id } = sendingOf(language)
      await publishStatuses(world, misleadingEvents(id))
      Object.assign(env, exampleEnvironment(brokers, world.settings))
      const lines = (await runLine(language, line, { env })).split('\n')
      const sent = expect.stringContaining(`${id} SENT`)
      expect(lines).toEqual([`${id} IN_DOUBT RESPONSE_LOST`, sent, `${id} DELIVERED`, ''])
    },
  )

  test.for(['python', 'java'] as const)(
    '%s: with a public key the text is sealed, and only the worker opens it',
    slow,
    async (language, context) => {
      const env = await prepare(language, context)
      const folder = mkdtempSync(join(tmpdir(), 'busgate-keys-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const [privateKeys, publicKeys] = [join(folder, 'private.json'), join(folder, 'public.json')]
      await busgate(['keys', 'create', '--file', privateKeys])
      writeFileSync(publicKeys, (await busgate(['keys', 'public', '--file', privateKeys])).stdout)
      const sealing = { keysFile: privateKeys, required: 'default' }
      const gateway = await startProxy()
      const world = await startWorld({ brokers, gateway, settings: { sealing } })
      const { line, id } = sendingOf(language)
      Object.assign(env, exampleEnvironment(brokers, world.settings), { PUBLIC_KEYS: publicKeys })
      expect(await runLine(language, line, { env })).toContain(`${id} SENT`)
      const operations = gateway.requests.flatMap(({ body }) => JSON.parse(body).data)
      expect(operations).toContainEqual(
        expect.objectContaining({ sms_message: 'Your order is ready', sms_signature: 'Shop' }),
      )
      expect(await bytesOf(world, world.settings.topics.commands)).not.toContain('order')
    },
  )

  test.for(languages)(
    '%s: without callbacks there is no verdict yet; an unverified event counts for a message without a hook',
    slow,
    async (language, context) => {
      const env = await prepare(language, context)
      const world = await startWorld({ brokers, settings: withoutHooks })
      const { line, id } = sendingOf(language)
      Object.assign(env, exampleEnvironment(brokers, world.settings), { VERDICT_SECONDS: '1' })
      expect(await runLine(language, line, { env })).toContain(`${id} no verdict yet\n`)

      const next = id + 2n ** 53n
      await publishStatuses(world, [buildStatusEvent({ id: next, status: 'UNDELIVERABLE', verified: false })])
      Object.assign(env, { VERDICT_SECONDS: '60' })
      const printed = await runLine(language, line.replace(String(id), String(next)), { env })
      expect(printed).toContain(`${next} FAILED\n`)
    },
  )

  test.for(['python', 'java'] as const)(
    '%s: a command with notBefore is sent at its time',
    slow,
    async (language, context) => {
      const env = await prepare(language, context)
      const world = await startWorld({ brokers })
      Object.assign(env, exampleEnvironment(brokers, world.settings), { DELAY_SECONDS: '3' })
      const { line, id } = sendingOf(language)
      const before = Date.now()
      expect(await runLine(language, line, { env })).toContain(`${id} SENT`)
      const [result] = await world.finished(1)
      expect(result!.sentAt).toBeGreaterThanOrEqual(before + 3_000)
    },
  )

  test.for(languages)(
    '%s: a phone in national format is refused before anything is sent',
    slow,
    async (language, context) => {
      const env = await prepare(language, context)
      const world = await startWorld({ brokers })
      Object.assign(env, exampleEnvironment(brokers, world.settings))
      const national = commandsOf(language).at(-1)!.replace('380671234567', '0671234567')
      const refusal = 'Nothing was sent: PHONE must be digits only, in international format such as 380671234567.'
      await expect(outputOf(language, national, { env })).rejects.toMatchObject({
        stderr: expect.stringContaining(refusal),
      })
      await world.quiet()
      expect(world.results()).toEqual([])
    },
  )

  test(
    'python: a typing error in the name of a field is refused, although fastavro alone would ignore it',
    slow,
    async context => {
      const env = await prepare('python', context)
      const world = await startWorld({ brokers })
      Object.assign(env, exampleEnvironment(brokers, world.settings))
      const mistyped = { sms_mesage: 'Your order is ready', sms_signature: 'Shop' }
      const input = `${JSON.stringify({ id: 1, phone: 380671234567, message: mistyped })}\n`
      const sending = runLine('python', "python3 -c 'import json, send; send.send(json.loads(input()))'", {
        env,
        input,
      })
      await expect(sending).rejects.toThrow('record contains more fields than the schema specifies: sms_mesage')
      await world.quiet()
      expect(world.results()).toEqual([])
    },
  )
})
