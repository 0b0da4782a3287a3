import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Bus, OutgoingRecord, Place } from '../../src/bus/port.ts'
import { loadSettings } from '../../src/config/index.ts'
import { waitForResult } from '../../src/consumer/index.ts'
import { createProducer, DeadLetterError, type NewCommand } from '../../src/producer.ts'
import { deadLetter } from '../../src/records/dead-letter.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { openMemoryBus, publishAll, until } from '../support/bus.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const { topics, ...others } = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' } } })
const names = [...topics.commands, topics.results, topics.statuses, topics.deadLetters]

const sms = (id: number | bigint): NewCommand => ({
  id,
  phone: 380501234567,
  type: 'sms',
  message: { sms_message: 'Hello', sms_signature: 'Shop' },
})

/** Opens a bus with a producer, and functions that write as a worker does. @param confirmAfter turns from a write to its confirmation */
async function start(confirmAfter = 0) {
  const settings = { topics, ...others } // readings are shared by those with the same settings
  const { bus } = openMemoryBus(names, { groupId: 'busgate', partitions: 3 })
  const registry = embeddedRegistry()
  const encode = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const reading = countReadings(bus, confirmAfter)
  const producer = await createProducer(settings, { bus: reading.bus, registry })
  onTestFinished(() => producer.close())
  const commands: { id: bigint; place: Pick<SendResult, 'commandTopic' | 'commandPartition' | 'commandOffset'> }[] = []
  for (const topic of topics.commands) {
    await bus.read([topic], 'earliest', ({ partition }, records) => {
      for (const { key, offset } of records) {
        const place = { commandTopic: topic, commandPartition: partition, commandOffset: offset }
        commands.push({ id: BigInt(key!.toString()), place })
      }
    })
  }
  const write = (topic: string, id: bigint, value: Buffer) =>
    publishAll(bus, [{ topic, key: Buffer.from(String(id)), value }])
  /** Waits until the command with this id is on the topic; the n-th if there are several. */
  const placeOf = async (id: bigint, n = 0) => {
    const found = () => commands.filter(command => command.id === id)[n]
    await until(() => expect(found()).toBeDefined())
    return found()!.place
  }
  return {
    settings,
    bus,
    registry,
    producer,
    reading,
    placeOf,
    commands,
    send: async (...ids: (number | bigint)[]) => await producer.send(ids.map(sms)),
    /** Writes the result of the command with this id, of the n-th of several. */
    result: async (id: bigint, some: Partial<SendResult> = {}, n = 0) =>
      await write(topics.results, id, encode(buildResult({ ...(await placeOf(id, n)), ...some, id }))),
    status: (event: Partial<StatusEvent> & { id: bigint }) =>
      write(topics.statuses, event.id, encodeStatus(buildStatusEvent(event))),
  }
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(resolve => setImmediate(resolve))
}

/** Counts the partitions that are followed on a bus, and those that are now. */
function countReadings(bus: Bus, confirmAfter: number) {
  const counts = { begun: 0, open: 0 }
  const counted: Bus = Object.create(bus)
  for (const name of ['partitions', 'readInGroup', 'lookAt', 'close'] as const) {
    counted[name] = bus[name].bind(bus) as never
  }
  counted.publisher = async () => {
    const publisher = await bus.publisher()
    const publish = async (records: OutgoingRecord[]) => {
      const confirmations: (() => void)[] = []
      const confirmed = (record: OutgoingRecord) => (place: Place) => confirmations.push(() => record.written?.(place))
      await publisher.publish(records.map(record => ({ ...record, written: confirmed(record) })))
      await turns(confirmAfter)
      for (const confirm of confirmations) confirm()
    }
    return { ...publisher, publish }
  }
  counted.follow = async (...given) => {
    const follower = await bus.follow(...given)
    counts.begun++
    counts.open++
    return {
      caughtUp: behind => follower.caughtUp(behind),
      get position() {
        return follower.position
      },
      close: async () => {
        counts.open--
        await follower.close()
      },
    }
  }
  return { counts, bus: counted }
}

describe('the handle of a command', () => {
  test('has its id and account, and gives its result and then its verdict', async () => {
    const { send, result, status, producer } = await start()
    const [handle] = await send(7)
    expect(handle).toMatchObject({ id: 7n, account: 'default' })
    const [found, verdict] = [handle!.result(), handle!.verdict()]
    await result(7n, { outcome: 'IN_DOUBT', final: false })
    await result(7n, { msgId: 'gw-7' })
    expect(await found).toMatchObject({ id: 7n, outcome: 'SENT', msgId: 'gw-7' })
    await status({ id: 7n, account: 'bank', state: 'FAILED', final: true })
    await status({ id: 7n, state: 'DELIVERED', status: 'READ', final: true, verified: true })
    expect(await verdict).toMatchObject({ verdict: 'DELIVERED', status: 'READ', read: true })
    expect(await producer.send([])).toEqual([])
  })

  test('reads nothing until somebody waits', async () => {
    const { send, result, reading } = await start()
    const [handle] = await send(1)
    expect(reading.counts.begun).toBe(0)
    await result(1n)
    expect(await handle!.result()).toMatchObject({ outcome: 'SENT' })
    expect(reading.counts.begun).toBeGreaterThan(0)
  })

  test('gives the result of its own record although an earlier one with its id ended otherwise', async () => {
    const { send, result } = await start()
    await send(5)
    await result(5n, { outcome: 'EXPIRED' })
    const [again] = await send(5)
    const found = again!.result()
    await result(5n, { outcome: 'SENT', msgId: 'gw-5' }, 1)
    expect(await found).toMatchObject({ outcome: 'SENT', msgId: 'gw-5' })
  })

  test.each([
    ['before', true],
    ['after', false],
  ])('follows the first record with its id if it is a DUPLICATE; the first result came %s', async (_, isBefore) => {
    const { send, result, reading } = await start()
    await send(5)
    if (isBefore) await result(5n, { msgId: 'gw-5' })
    const [again] = await send(5)
    const found = again!.result()
    await result(5n, { outcome: 'DUPLICATE' }, 1)
    if (!isBefore) await result(5n, { msgId: 'gw-5' })
    expect(await found).toMatchObject({ outcome: 'SENT', msgId: 'gw-5' })
    // the three partitions of results and of dead letters: nothing is read again for a result that was just read
    if (isBefore) expect(reading.counts.begun).toBe(6)
  })

  test('rejects with the code of the dead letter that its record became, alone or in a range', async () => {
    const { send, placeOf, bus } = await start()
    const [one, other] = await send(5, 6)
    const waiting = [one!, other!].map(handle => handle.result().catch((error: unknown) => error))
    const letters = [5n, 6n].map(async (id, i) => {
      const { commandTopic: topic, commandPartition: partition, commandOffset: offset } = await placeOf(id)
      const record = { offset, timestamp: 0, key: Buffer.from(String(id)), value: null, headers: {} }
      const reason = { code: 'RECORDS_DELETED', message: 'gone', perhapsSent: id === 6n } as const
      await publishAll(bus, [deadLetter(topics.deadLetters, { topic, partition, record }, reason, offset + i * 5)])
    })
    await Promise.all(letters)
    for (const [i, error] of (await Promise.all(waiting)).entries()) {
      expect(error).toBeInstanceOf(DeadLetterError)
      expect(error).toMatchObject({ code: 'RECORDS_DELETED', ...(i === 0 && { partition: expect.any(Number) }) })
    }
    await expect(one!.result()).rejects.toThrow(/became a dead letter: RECORDS_DELETED: gone$/)
    await expect(other!.result()).rejects.toThrow(/became a dead letter, and was perhaps sent: RECORDS_DELETED: gone$/)
  })

  test.each<[string, Partial<SendResult>, NewCommand['type']]>([
    ['was REJECTED', { outcome: 'REJECTED' }, 'sms'],
    ['is a call/otp', { outcome: 'SENT' }, 'call/otp'],
    ['is an hlr', { outcome: 'SENT' }, 'hlr'],
  ])('has no verdict if the message %s', async (_, some, type) => {
    const { producer, result } = await start()
    const message = type === 'sms' ? sms(1) : ({ id: 1, phone: 380501234567, type, message: {} } as NewCommand)
    const [handle] = await producer.send([message])
    await result(1n, some)
    expect(await handle!.verdict()).toBeNull()
  })

  test('says after a time-out what was found, and waits again when asked again', async () => {
    const { send, result } = await start()
    const [handle] = await send(5)
    await result(5n, { outcome: 'IN_DOUBT', final: false })
    await until(async () => {
      const error = await handle!.result({ signal: AbortSignal.timeout(50) }).catch(error => error)
      expect([error.name, error.message]).toEqual(['TimeoutError', expect.stringContaining('it is IN_DOUBT since')])
    })
    const found = handle!.result()
    await result(5n)
    expect(await found).toMatchObject({ outcome: 'SENT' })
    const reason = new Error('the customer has left')
    await expect(handle!.verdict({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  test('says after a time-out until when its command waits', async () => {
    const { producer } = await start()
    const notBefore = new Date(Date.now() + 3_600_000)
    const [handle] = await producer.send([{ ...sms(5), notBefore }])
    const { message } = await handle!.result({ signal: AbortSignal.timeout(50) }).catch(error => error)
    expect(message).toContain(`it waits until ${notBefore.toISOString()}. busgate message 5 `)
    expect(handle!.notBefore).toBe(notBefore.getTime())
  })

  test('says after a time-out of the verdict that no status came, or which one did', async () => {
    const { send, result, status } = await start()
    const [handle] = await send(5)
    await result(5n)
    const complains = (text: string) =>
      until(async () => {
        const error = await handle!.verdict({ signal: AbortSignal.timeout(50) }).catch(error => error)
        expect([error.name, error.message]).toEqual(['TimeoutError', expect.stringContaining(text)])
      })
    await complains('no status came: do callbacks reach busgate, or does a reconciler run? busgate message 5 --account')
    await status({ id: 5n, state: 'PENDING', status: 'ACCEPTED', final: false, verified: true })
    await complains('message 5 was SENT and has no verdict after')
    await complains(': it is pending. busgate message 5 --account')
  })

  test('rejects what waits when its producer is closed, and ends the reading', async () => {
    const { send, producer, reading } = await start()
    const [handle] = await send(5)
    const rejected = expect(handle!.result()).rejects.toThrow(/the producer was closed/)
    await until(() => expect(reading.counts.open).toBeGreaterThan(0))
    await producer.close()
    await rejected
    await until(() => expect(reading.counts.open).toBe(0))
  })

  test('a send that was called is not rejected by close', async () => {
    const { send, producer, commands } = await start()
    const sending = send(5, 6)
    await producer.close()
    expect(await sending).toHaveLength(2)
    await until(() => expect(commands).toHaveLength(2))
  })

  test('a closed producer writes nothing more', async () => {
    const { producer, send, commands, placeOf } = await start()
    await send(1)
    await placeOf(1n)
    await producer.close()
    await expect(send(2)).rejects.toThrow('the producer is closed: nothing was written')
    const withdrawn = producer.withdraw({ campaign: 'spring', reason: 'a mistake' })
    await expect(withdrawn).rejects.toThrow('the producer is closed: nothing was written')
    expect(commands.map(({ id }) => id)).toEqual([1n])
  })

  test('a send of anything but an array is refused', async () => {
    const { producer } = await start()
    for (const given of [undefined, sms(1), new Set([sms(1)])] as never[])
      await expect(producer.send(given)).rejects.toThrow('send: commands must be an array')
  })

  test('a send whose signal is aborted writes nothing', async () => {
    const { producer, commands, send } = await start()
    const reason = new Error('too late')
    await expect(producer.send([sms(1)], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    await send(2)
    await until(() => expect(commands.map(({ id }) => id)).toEqual([2n]))
  })
})

test('a thousand waits share one reading of each topic, whether they begin together or one after another', async () => {
  const { send, result, reading, settings, registry } = await start()
  const handles = await send(...Array.from({ length: 500 }, (_, i) => i + 1))
  const found = handles.map(handle => handle.result())
  const options = { bus: reading.bus, registry }
  const byId = handles.map(({ id }) => waitForResult(settings, id, options))
  await until(() => expect(reading.counts.open).toBeGreaterThan(0))
  const later = handles.map(handle => handle.result())
  for (const { id } of handles) await result(id)
  for (const results of [found, byId, later]) {
    expect((await Promise.all(results)).map(({ id }) => id)).toEqual(handles.map(({ id }) => id))
  }
  // results and dead letters have three partitions each; what had passed before was read back once
  expect(reading.counts.begun).toBeLessThanOrEqual(4 * 3)
})

test('however sends, results and waits race, every wait ends with the result of its record', async () => {
  const moment = fc.nat(12)
  const plan = fc.record({ send: moment, wait: moment, answer: moment, isLate: fc.boolean() })
  const plans = fc.array(plan, { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(plans, moment, moment, async (plans, confirmAfter, othersWait) => {
      const { send, result } = await start(confirmAfter)
      const [other] = await send(1000)
      const others = turns(othersWait).then(() => other!.result())
      const all = plans.map(async (plan, i) => {
        const id = BigInt(i + 1)
        await turns(plan.send)
        const sent = send(id)
        const answered = turns(plan.answer).then(() => result(id, { msgId: `gw-${id}` }))
        const [handle] = await sent
        if (plan.isLate) await answered
        await turns(plan.wait)
        expect(await handle!.result()).toMatchObject({ id, msgId: `gw-${id}` })
        await answered
      })
      await Promise.all(all)
      await result(1000n)
      await others
    }),
    { numRuns: 50 },
  )
})
