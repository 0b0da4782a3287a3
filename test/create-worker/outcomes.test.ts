import { describe, expect, test } from 'vitest'
import type { InvalidCommandError, NewCommand } from '../../src/producer.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { startWorld, type World, type WorldOptions } from '../support/worker.ts'

/** Starts a world, sends these commands and waits for their final results. */
async function worldAfter(commands: readonly SendCommand[], options: WorldOptions = {}): Promise<World> {
  const world = await startWorld(options)
  await world.send(commands)
  await world.finished(commands.length)
  await world.quiet()
  return world
}

describe('a command that the gateway refuses', () => {
  test("is REJECTED with the gateway's error and its code, and other commands are sent", async () => {
    const world = await worldAfter([
      buildCommand({ id: 1n }),
      buildCommand({ id: 2n, phone: 380501234590, correlationId: 'order-7', tenant: 'acme', campaign: 'spring' }),
      buildCommand({ id: 3n, phone: 380501234592 }),
      buildCommandOf('call/otp', { id: 4n, phone: 380501234591 }),
      buildCommand({ id: 5n }),
    ])
    expect(world.resultOf(2)).toMatchObject({
      outcome: 'REJECTED',
      final: true,
      errorCode: 'SENDER_INVALID',
      error: 'Error in Alpha-name',
      msgId: null,
      attempts: 1,
      commandOffset: 1,
      correlationId: 'order-7',
      tenant: 'acme',
      campaign: 'spring',
      country: 'UA',
      hooked: true,
      commandAt: expect.any(Number),
    })
    expect(world.resultOf(3)).toMatchObject({
      outcome: 'REJECTED',
      errorCode: 'INSUFFICIENT_FUNDS',
      error: 'Not enough money',
    })
    expect(world.resultOf(4)).toMatchObject({
      outcome: 'REJECTED',
      errorCode: 'OPERATOR_UNSUPPORTED',
      error: 'Operator not supported',
    })
    for (const id of [1, 5]) expect(world.resultOf(id).outcome).toBe('SENT')
    expect(world.results()).toHaveLength(5)
  })

  test('is REJECTED even if the gateway refuses the whole envelope of a single call/otp', async () => {
    const world = await worldAfter([buildCommandOf('call/otp', { id: 1n, phone: 380501234591 })], {
      sandbox: { open: { otpRefusal: 'envelope' } },
    })
    expect(world.resultOf(1)).toMatchObject({
      outcome: 'REJECTED',
      errorCode: 'OPERATOR_UNSUPPORTED',
      error: 'Operator not supported',
      attempts: 1,
    })
  })

  test('because it knows the id has the error code DUPLICATE_ID', async () => {
    const world = await startWorld({
      sandbox: { open: { duplicates: 'refuse' } },
    })
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    await world.send([buildCommand({ id: 1n })], world.settings.topics.commands[0]) // another partition
    const [, second] = await world.finished(2)
    expect(second).toMatchObject({ outcome: 'REJECTED', errorCode: 'DUPLICATE_ID' })
    expect(world.sandbox.executions(1)).toBe(1)
  })
})

describe('a command that violates the interface', () => {
  /** test/protocol tests the limits of each field. */
  const broken: [field: string, what: string, command: SendCommand][] = [
    ['id', 'of 0', buildCommand({ id: 0n })],
    ['phone', 'of 16 digits', buildCommand({ phone: 1_000_000_000_000_000 })],
    ['hook', 'that is not a URL', buildCommand({ hook: 'shop.example/hook' })],
    ['viber_type', 'that is unknown', buildCommandOf('viber', {}, { viber_type: 'video' })],
    ['pipeline[1]', 'that is not a channel', buildCommandOf('pipeline', {}, { pipeline: ['sms', 'fax'] })],
    ['extra.sms.message', 'that the stage has', buildCommandOf('pipeline', { extra: { sms: '{"message":"Hi"}' } })],
  ]

  test('is INVALID, its result names the field, and other commands are sent', async () => {
    const commands = broken.map(([, , command], i) => (command.id > 0n ? { ...command, id: BigInt(100 + i) } : command))
    const world = await worldAfter([buildCommand({ id: 1n }), ...commands, buildCommand({ id: 2n })])
    expect(world.sandbox.stats()).toMatchObject({ operations: 2, executed: 2 })
    for (const id of [1, 2]) expect(world.resultOf(id).outcome).toBe('SENT')
    expect(world.results()).toHaveLength(commands.length + 2)

    const byOffset = new Map(world.results().map(result => [result.commandOffset, result]))
    for (const [i, [field, what]] of broken.entries()) {
      const result = byOffset.get(i + 1)
      expect(result, `${field} ${what}`).toMatchObject({
        id: commands[i]!.id,
        outcome: 'INVALID',
        final: true,
        errorCode: 'VALIDATION',
        attempts: 0,
        sentAt: null,
      })
      expect(result!.error, `${field} ${what}`).toMatch(new RegExp(`^${field.replace(/[[\].]/g, '\\$&')} `))
    }
  })

  test('because it has no content is INVALID, and refused by the producer, unless gateway.allowEmpty is set', async () => {
    const empty = { id: 5n, phone: 380501234567, type: 'viber+sms', message: {} } as unknown as NewCommand
    const strict = await startWorld()
    await expect(strict.producer.send([empty])).rejects.toThrow('command 5: viber_message or sms_message is required')
    const world = await startWorld({ settings: { gateway: { allowEmpty: true } } })
    await world.producer.send([empty])
    await world.finished(1)
    expect(world.sandbox.executions(5)).toBe(1)
  })

  test('because of a limit is refused by a producer whose settings have it, and else by the worker', async () => {
    const gateway = { countries: 'UA', maxParts: 1 }
    const world = await startWorld({ settings: { gateway } })
    const message = { sms_message: 'я'.repeat(71), sms_signature: 'Shop' }
    const abroad = { id: 5n, phone: 94711234567, type: 'sms', message } satisfies NewCommand
    const long = { ...abroad, id: 6n, phone: 380501234567 }
    const refused = await world.producer.send([abroad, long]).catch((error: InvalidCommandError) => error.problems)
    expect(refused).toEqual([
      { index: 0, id: 5n, field: 'phone', expected: 'must be of a country in gateway.countries; it is of LK' },
      {
        index: 1,
        id: 6n,
        field: 'sms_message',
        expected: expect.stringMatching(/^must fit into 1 SMS part .* it needs 2/),
      },
    ])
    await world.send([abroad, long].map(({ id, phone }) => buildCommandOf('sms', { id, phone }, message)))
    await world.finished(2)
    expect(world.resultOf(5)).toMatchObject({ outcome: 'INVALID', errorCode: 'COUNTRY', country: 'LK', attempts: 0 })
    expect(world.resultOf(6)).toMatchObject({ outcome: 'INVALID', errorCode: 'PARTS', attempts: 0 })
    expect(world.sandbox.stats().executed).toBe(0)
  })

  test('because it is longer than gateway.maxBytes is INVALID, and one that just fits is sent', async () => {
    const gateway = await startProxy()
    const maxBytes = 2048
    const world = await startWorld({ gateway, settings: { gateway: { maxBytes } } })
    const hook = 'https://shop.example/hook'
    const sms = (id: bigint, length: number) => buildCommandOf('sms', { id, hook }, { sms_message: 'x'.repeat(length) })

    await world.send([sms(101n, 100)])
    await world.finished(1)
    const most = 100 + maxBytes - gateway.requests[0]!.body.length
    await world.send([sms(102n, most), sms(103n, most + 1), sms(104n, 1)])
    await world.finished(4)
    expect(world.resultOf(103)).toMatchObject({ outcome: 'INVALID', errorCode: 'VALIDATION', attempts: 0 })
    expect(world.resultOf(103).error).toContain('gateway.maxBytes')
    for (const id of [101, 102, 104]) expect(world.resultOf(id).outcome).toBe('SENT')
    expect(gateway.requests.map(({ body }) => body.length)).toContain(maxBytes)
  })
})

describe('a command that comes too late', () => {
  const past = () => Date.now() - 1

  test('is EXPIRED and never sent, and other commands are sent', async () => {
    const world = await worldAfter([
      buildCommand({ id: 1n, deadline: past(), correlationId: 'order-7' }),
      buildCommand({ id: 2n, deadline: Date.now() + 60_000 }),
      buildCommandOf('call/otp', { id: 3n, deadline: past() }),
    ])
    const expired = { outcome: 'EXPIRED', final: true, errorCode: 'DEADLINE', attempts: 0, sentAt: null }
    expect(world.resultOf(1)).toMatchObject({ ...expired, correlationId: 'order-7' })
    expect(world.resultOf(3)).toMatchObject(expired)
    expect(world.resultOf(2).outcome).toBe('SENT')
    expect(world.sandbox.stats().operations).toBe(1)
  })
})

describe('an id that occurs twice', () => {
  test('is sent once, and the second record says DUPLICATE', async () => {
    const world = await startWorld()
    await world.send([buildCommand({ id: 1n }), buildCommand({ id: 2n }), buildCommand({ id: 1n, correlationId: 'b' })])
    await world.finished(3)
    await world.send([buildCommand({ id: 1n, correlationId: 'c' })])
    await world.finished(4)
    await world.quiet()
    const ofFirst = world.results().filter(({ id }) => id === 1n)
    const duplicate = { outcome: 'DUPLICATE', final: true, errorCode: 'DUPLICATE_ID', attempts: 0, sentAt: null }
    expect(ofFirst).toEqual([
      expect.objectContaining({ ...duplicate, commandOffset: 2, correlationId: 'b' }),
      expect.objectContaining({ outcome: 'SENT', commandOffset: 0 }),
      expect.objectContaining({ ...duplicate, commandOffset: 3, correlationId: 'c' }),
    ])
    expect(world.sandbox.executions(1)).toBe(1)
    expect(world.resultOf(2).outcome).toBe('SENT')
  })

  test('is recognised by the next worker too', async () => {
    const world = await startWorld()
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    await world.worker.close()
    await world.startWorker()
    await world.send([buildCommand({ id: 1n })])
    const [, second] = await world.finished(2)
    expect(second).toMatchObject({ outcome: 'DUPLICATE', commandOffset: 1 })
    expect(world.sandbox.executions(1)).toBe(1)
  })
})
