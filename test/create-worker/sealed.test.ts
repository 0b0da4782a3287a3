import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createProducer, InvalidCommandError, type NewCommand } from '../../src/producer.ts'
import { canary, captureOutput, leaksIn } from '../support/canary.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { bytesOf, type Jwk, keySet, sealingKey } from '../support/sealing.ts'
import { startWorld, type World } from '../support/worker.ts'

const { own, shared } = sealingKey('k1')
const { text, phone } = canary

function keysFile(...keys: Jwk[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'busgate-keys-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'keys.json')
  writeFileSync(file, keySet(...keys))
  return file
}

async function sealingProducer({ settings, bus, registry }: World, seal: Jwk = shared) {
  const producer = await createProducer(settings, { bus, registry, seal })
  onTestFinished(() => producer.close())
  return producer
}

const sms = (id: bigint, more: Partial<NewCommand> = {}) =>
  ({ id, phone, type: 'sms', message: { sms_signature: 'Shop', sms_message: text }, ...more }) as NewCommand

test('a producer with the public key seals content that only the gateway gets: no topic, log or metric has it', async () => {
  const output = captureOutput()
  const gateway = await startProxy()
  const world = await startWorld({
    gateway,
    logger: output.logger,
    settings: { sealing: { keysFile: keysFile(own), required: 'default' } },
  })
  const producer = await sealingProducer(world, { keys: [shared, sealingKey('k2').shared] })
  world.sandbox.faults.next('reset-after')
  await producer.send([sms(1n)])
  await world.finished(1)
  await producer.send([
    sms(2n, { hook: 'https://shop.example/hook' }),
    sms(2n),
    { id: 3n, phone, type: 'call/otp', message: {} },
    sms(4n, { deadline: Date.now() + 60_000, phone: phone + 25 }),
  ])
  await world.finished(5)
  const outcomes = world.results().map(({ id, outcome }) => `${id} ${outcome}`)
  expect(outcomes.slice(0, 2)).toEqual(['1 IN_DOUBT', '1 SENT'])
  expect(outcomes.slice(2).toSorted()).toEqual(['2 DUPLICATE', '2 SENT', '3 SENT', '4 REJECTED'])
  const posted = gateway.requests.map(({ body }) => body).join()
  expect(posted.split(text)).toHaveLength(1 + 3)
  output.add(await (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text())
  await world.quiet()
  expect(leaksIn(output.all())).toEqual([])
  const bytes = await bytesOf(world)
  expect(bytes).toContain('eyJ')
  expect(
    ['zebra', 'Olena', 'code is', Buffer.from(text).toString('base64')].filter(mark => bytes.includes(mark)),
  ).toEqual([])
})

test('a key that is added to the file opens content at once; without a restart, a removed one no longer does', async () => {
  const file = keysFile(own)
  const world = await startWorld({ settings: { sealing: { keysFile: file } } })
  const second = sealingKey('k2', 'P-256')
  const producer = await sealingProducer(world, second.shared)
  await producer.send([sms(1n)])
  writeFileSync(file, keySet(second.own))
  await world.finished(1)
  expect(world.resultOf(1).outcome).toBe('SENT')
})

test('a command in the clear is refused before it is written if the settings require sealing', async () => {
  const world = await startWorld({ settings: { sealing: { keysFile: keysFile(own), required: 'default' } } })
  const error = await world.producer.send([sms(1n)]).catch(caught => caught)
  expect(error).toBeInstanceOf(InvalidCommandError)
  expect(error.message).toBe('command 1: message must be sealed: sealing.required names its account')
})

test.each<[string, Jwk, string]>([
  ['no key', {}, 'kid must have 1 to 64 letters, digits, dots, dashes, underscores or tildes'],
  ['a private key', own, 'is a private key, which workers alone need: give its public one (busgate keys public)'],
  ['an empty set', { keys: [] }, 'expected a JWK Set: {"keys": [ … ]} with one key or more'],
  ['a key to sign with', { ...shared, use: 'sig' }, 'use must be enc'],
  [
    'a key of another curve',
    { ...shared, crv: 'Ed25519' },
    'must be of P-256 (kty EC), X25519 (kty OKP) or a secret (kty oct)',
  ],
  ['a broken key', { ...shared, x: 'AA' }, 'its parameters are no valid key; a secret (kty oct) has 32 bytes'],
  [
    'a short secret',
    { kid: 'a', kty: 'oct', k: 'AAAA' },
    'its parameters are no valid key; a secret (kty oct) has 32 bytes',
  ],
])('createProducer refuses %s, and says why', async (_, seal, why) => {
  const world = await startWorld()
  await expect(sealingProducer(world, seal)).rejects.toThrow(`createProducer: seal: ${why}`)
})
