import { CompactEncrypt } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { keyThatSeals, readSealingKeys } from '../../src/config/index.ts'
import { Secret } from '../../src/config/secret.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { contentRecordOf } from '../../src/records/new-command.ts'
import { hasContent } from '../../src/records/sealed.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'
import { buildPause, buildResume } from '../support/control.ts'
import { type Jwk, keySet, seal, sealingKey } from '../support/sealing.ts'
import { numbersFrom, type SendingOptions, startSendingWorld } from '../support/sending.ts'

const k1 = sealingKey('k1')
const k2 = sealingKey('k2', 'P-256')
const k3 = sealingKey('k3', 'secret')
const secretText = 'Your code is 0427-zebra'
const withKeys = (...keys: Jwk[]) => ({ sealing: { keys: keySet(...keys) } })

type World = Awaited<ReturnType<typeof startSendingWorld>>

/** The keys are used outside of the manual clock. */
const until = (world: World, isDone: () => boolean, stepMs = 10) =>
  vi.waitUntil(
    async () => {
      await world.pass(stepMs, stepMs)
      return isDone()
    },
    { timeout: 60_000, interval: 1 },
  )

const start = (options: SendingOptions = {}) =>
  startSendingWorld({ settings: withKeys(k1.own, k2.own, k3.own), ...options })

async function resultsOf(commands: readonly SendCommand[], options: SendingOptions = {}) {
  const world = await start(options)
  world.put('bulk', commands)
  await until(world, () => world.results().length + world.letters().length === commands.length)
  return world
}

const otp = (id: number, overrides: Partial<SendCommand> = {}) =>
  buildCommandOf('sms', { id: BigInt(id), ...overrides }, { sms_message: secretText })

/** The protected header of command 1. */
const protectedNames = {
  alg: 'ECDH-ES',
  enc: 'A256GCM',
  kid: 'k1',
  id: '1',
  account: 'default',
  phone: '380501234567',
  type: 'sms',
}

/** A JWE with any header and content. */
async function jweOf(header: object, content: unknown = { sms_message: 'a', sms_signature: 'b' }, key = k1.shared) {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const protectedHeader = JSON.parse(JSON.stringify({ ...protectedNames, ...header }))
  return new CompactEncrypt(Buffer.from(text)).setProtectedHeader(protectedHeader).encrypt(keyThatSeals(key).key)
}

const sealedAs = (jwe: string, type = 'sms', overrides: Partial<SendCommand> = {}): SendCommand =>
  buildCommand({
    id: 1n,
    ...overrides,
    message: { 'io.busgate.Sealed': { type, jwe } } as unknown as SendCommand['message'],
  })

describe('sealed content', () => {
  test('of commands that are read together, of any partitions, is sent together', async () => {
    const world = await start({ partitions: 4 })
    const commands = await Promise.all(numbersFrom(1, 20).map(id => seal(otp(id), k1.shared)))
    for (const [i, command] of commands.entries()) world.put('urgent', [command], i % 4)
    await until(world, () => world.results().length === commands.length)
    expect(world.posts.filter(({ operations }) => operations.some(({ type }) => type === 'sms'))).toHaveLength(1)
  })

  test.each(sendTypes.filter(hasContent))('of %s is POSTed as if it had been written in the clear', async type => {
    const clear = buildCommandOf(type, { id: 1n })
    const sealed = await seal(buildCommandOf(type, { id: 2n }), k1.shared, type)
    const world = await resultsOf([clear, sealed])
    const [one, other] = world.posts.flatMap(({ operations }) => operations).toSorted((a, b) => a.id - b.id)
    expect(other).toEqual({ ...one, id: 2 })
    expect(world.results()).toMatchObject([{ outcome: 'SENT' }, { outcome: 'SENT', type }])
  })

  test.each([
    ['X25519', k1],
    ['P-256', k2],
    ['a secret', k3],
  ])('opens with a key of %s', async (_, { shared }) => {
    const world = await resultsOf([await seal(otp(1), shared)])
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
    expect(world.posts[0]!.operations).toMatchObject([{ sms_message: secretText }])
  })

  test('keeps the order of a partition, and waits for nobody: commands in the clear are sent first or last', async () => {
    const sealed = await Promise.all(Array.from({ length: 100 }, (_, i) => seal(otp(i + 1), k1.shared)))
    const world = await resultsOf(sealed)
    expect(world.sent('default')).toEqual(sealed.map(({ id }) => Number(id)))
  })

  test('waits sealed until its time, or while its campaign is paused', async () => {
    const world = await start()
    const later = () => world.broker.read({ topic: 'later', partition: 0 }, 0, 100).records
    const hour = 3_600_000
    world.control(buildPause({ kind: 'campaign', name: 'spring' }))
    world.put('bulk', [
      await seal(otp(1, { notBefore: world.clock.now() + hour }), k1.shared),
      await seal(otp(2, { campaign: 'spring' }), k1.shared),
    ])
    await until(world, () => later().length === 2)
    for (const { value, headers } of later()) {
      expect(value?.includes(secretText)).toBe(false)
      expect(JSON.stringify(headers)).not.toContain(secretText)
    }
    expect(world.posts).toEqual([])
    await world.pass(hour, 10_000)
    await until(world, () => world.results().length === 1)
    world.control(buildResume({ kind: 'campaign', name: 'spring' }))
    await until(world, () => world.results().length === 2)
    expect(world.results()).toMatchObject([
      { id: 1n, outcome: 'SENT', type: 'sms', commandOffset: 0 },
      { id: 2n, outcome: 'SENT', type: 'sms', commandOffset: 1 },
    ])
    expect(world.posts.flatMap(({ operations }) => operations)).toMatchObject([
      { sms_message: secretText },
      { sms_message: secretText },
    ])
  })

  test('of a repeated id is a duplicate, and of an INVALID one is not', async () => {
    const world = await resultsOf([await seal(otp(1), k1.shared), await seal(otp(1), k1.shared)])
    expect(
      world
        .results()
        .map(({ outcome }) => outcome)
        .toSorted(),
    ).toEqual(['DUPLICATE', 'SENT'])
    const empty = await seal(buildCommandOf('sms', { id: 2n }, { sms_message: '' }), k1.shared)
    world.put('bulk', [empty, await seal(otp(2), k1.shared)])
    await until(world, () => world.results().length === 4)
    expect(
      world
        .results()
        .slice(2)
        .map(({ outcome }) => outcome),
    ).toEqual(['INVALID', 'SENT'])
  })
})

describe('a sealed command is INVALID and never POSTed', () => {
  const header = "jwe must have the command's"
  test.each<[string, object, string]>([
    ['of another id', { id: '2' }, `${header} id in its protected header, as text`],
    ['of another account', { account: 'other' }, `${header} account in its protected header, as text`],
    ['of another phone', { phone: '380501234568' }, `${header} phone in its protected header, as text`],
    ['of another type', { type: 'viber' }, `${header} type in its protected header, as text`],
    [
      'with a hook that the command has not',
      { hook: 'https://a.example' },
      `${header} hook in its protected header, as text`,
    ],
    ['with an id that is a number', { id: 1 }, `${header} id in its protected header, as text`],
    ['without a phone', { phone: undefined }, `${header} phone in its protected header, as text`],
    [
      'without a kid',
      { kid: undefined },
      'jwe must name its key in the protected header: kid, 1 to 64 letters, digits, dots, dashes, underscores or tildes',
    ],
    ['with A128GCM', { enc: 'A128GCM' }, 'jwe must have enc A256GCM'],
    ['with key wrapping', { alg: 'ECDH-ES+A256KW' }, 'jwe must have alg ECDH-ES or dir'],
    ['whose key is of another algorithm', { kid: 'k3' }, 'jwe must have alg dir, as its key k3 needs'],
    ['with the key of another', { kid: 'k2' }, 'jwe does not open with its key k2'],
  ])('%s', async (_, change, error) => {
    const world = await resultsOf([sealedAs(await jweOf(change))])
    expect(world.results()).toMatchObject([{ outcome: 'INVALID', errorCode: 'SEAL', error, attempts: 0, type: 'sms' }])
    expect(world.posts).toEqual([])
  })

  test.each([
    ['zip', { zip: 'DEF' }],
    ['crit', { crit: ['exp'], exp: 1 }],
  ])('with %s in its header', async (name, change) => {
    const [, ...parts] = (await jweOf({})).split('.')
    const forged = Buffer.from(JSON.stringify({ ...protectedNames, ...change })).toString('base64url')
    const world = await resultsOf([sealedAs([forged, ...parts].join('.'))])
    expect(world.results()).toMatchObject([
      { outcome: 'INVALID', errorCode: 'SEAL', error: `jwe must have no ${name}` },
    ])
  })

  test('whose caller added a hook of theirs that the header does not name, or took it away', async () => {
    const hook = 'https://shop.example/hook'
    const named = await seal(otp(2, { hook }), k1.shared)
    const world = await resultsOf([
      { ...(await seal(otp(1), k1.shared)), hook: 'https://thief.example' },
      named,
      { ...(await seal(otp(3, { hook }), k1.shared)), hook: null },
    ])
    const outcomes = world.results().map(({ id, outcome, errorCode }) => [id, outcome, errorCode])
    expect(outcomes.toSorted()).toEqual([
      [1n, 'INVALID', 'SEAL'],
      [2n, 'SENT', null],
      [3n, 'INVALID', 'SEAL'],
    ])
  })

  test.each<[string, (jwe: string) => string]>([
    ['that is empty', () => ''],
    ['that is no JWE', () => 'eyJhbGciOiJub25lIn0'],
    ['whose ciphertext was changed', jwe => jwe.replace(/\.([^.]+)\.([^.]+)$/, (_, text, tag) => `.${text}AA.${tag}`)],
    ['whose tag was cut', jwe => jwe.slice(0, -4)],
    [
      'whose header was changed',
      jwe => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${jwe.split('.').slice(1).join('.')}`,
    ],
  ])('%s', async (_, change) => {
    const world = await resultsOf([sealedAs(change(await jweOf({})))])
    expect(world.results()).toMatchObject([{ outcome: 'INVALID', errorCode: 'SEAL', attempts: 0 }])
  })

  test('of a type that this version does not know', async () => {
    const world = await resultsOf([sealedAs(await jweOf({ type: 'pigeon' }), 'pigeon')])
    expect(world.results()).toMatchObject([{ outcome: 'INVALID', errorCode: 'SEAL', type: 'unknown' }])
  })
})

describe('what was opened is validated like any content, and errors never show its characters', () => {
  const fields = contentRecordOf('sms')
    .fields.map(({ name }) => name)
    .join(', ')
  const notAnObject = 'the sealed content must be a JSON object, without names that all objects have, such as __proto__'
  test.each<[string, unknown, string]>([
    ...Object.getOwnPropertyNames(Object.prototype).map((name): [string, unknown, string] => [
      `has the field ${name}`,
      `{"sms_message":"a","sms_signature":"b","${name}":{}}`,
      notAnObject,
    ]),
    ['is no JSON', `{"sms_message": ${secretText}`, notAnObject],
    ['is a list', [secretText], notAnObject],
    ['is nested too deep', `${'['.repeat(20_000)}`, notAnObject],
    [
      'has a field of its own',
      { sms_message: 'a', sms_signature: 'b', [secretText]: 1 },
      `the sealed content must have these fields only: ${fields}`,
    ],
    [
      'names the phone',
      { sms_message: 'a', sms_signature: 'b', phone: 380671234567 },
      `the sealed content must have these fields only: ${fields}`,
    ],
    ['names a prototype', '{"sms_message":"a","sms_signature":"b","\\u005f_proto__":{"sms_lifetime":1}}', notAnObject],
    ['lacks a field', { sms_message: secretText }, 'sms_signature must be of type "string"'],
    ['has a wrong value', { sms_message: [secretText], sms_signature: 'b' }, 'sms_message must be of type "string"'],
    [
      'has half a character',
      '{"sms_message":"a\\ud83d","sms_signature":"b"}',
      'sms_message holds half of a surrogate pair, such as an emoji that was cut in two',
    ],
    [
      'breaks the interface',
      { sms_message: secretText, sms_signature: 'b', sms_lifetime: 5 },
      'sms_lifetime must be a whole number of seconds from 3600 to 259200',
    ],
  ])('%s', async (_, content, error) => {
    const world = await resultsOf([sealedAs(await jweOf({}, content))])
    expect(world.results()).toMatchObject([{ outcome: 'INVALID', errorCode: 'VALIDATION', error }])
  })

  test('an extra may not name a field of it, nor add to one', async () => {
    const extra = { sms: JSON.stringify({ note: 'x' }) }
    const message = { pipeline: ['sms'], sms: { message: 'a', signature: 'b' } }
    const clear = buildCommandOf('pipeline', { id: 1n, extra }, message)
    const world = await resultsOf([clear, await seal({ ...clear, id: 2n }, k1.shared, 'pipeline')])
    expect(world.results().toSorted((a, b) => Number(a.id - b.id))).toMatchObject([
      { outcome: 'SENT' },
      { outcome: 'INVALID', error: 'extra.sms must not be set: the command has a field for it' },
    ])
  })

  test('countries and parts apply, and of a character that is to blame only the place is told', async () => {
    const curly = buildCommandOf('sms', { id: 1n }, { sms_message: `${'a'.repeat(89)}’${'b'.repeat(10)}` })
    const world = await resultsOf(
      [await seal(curly, k1.shared), await seal(otp(2, { phone: 94711234567 }), k1.shared)],
      {
        gateway: { countries: 'UA', maxParts: 1 },
      },
    )
    expect(world.results()).toMatchObject([
      { errorCode: 'PARTS', error: expect.stringContaining('because its character 90 is not in GSM-7') },
      { errorCode: 'COUNTRY' },
    ])
  })
})

describe('with sealing.required, of those accounts', () => {
  test('what is in the clear is INVALID, except types without content; other accounts are free', async () => {
    const world = await resultsOf(
      [
        otp(1),
        await seal(otp(2), k1.shared),
        buildCommandOf('call/otp', { id: 3n }),
        buildCommandOf('hlr', { id: 4n }),
        otp(5, { account: 'other' }),
      ],
      { settings: { sealing: { keys: keySet(k1.own), required: 'default' } } },
    )
    const ends = world.results().toSorted((a, b) => Number(a.id - b.id))
    expect(ends.map(({ outcome }) => outcome)).toEqual(['INVALID', 'SENT', 'SENT', 'SENT', 'SENT'])
    expect(ends[0]).toMatchObject({
      errorCode: 'SEAL',
      error: 'message must be sealed: sealing.required names its account',
    })
  })
})

/** A world whose keys can be replaced, as in their file. */
async function startWithKeys(keys: { now: Jwk[] }, options: SendingOptions = {}) {
  const world = await start(options)
  world.settings.sealing.keys = new Secret(() => readSealingKeys({ keys: keys.now }, 'open'))
  return world
}

describe('a sealed command whose key is missing', () => {
  test('waits for it while others are sent, and is sent once the file has it', async () => {
    const keys = { now: [k2.own] }
    const world = await startWithKeys(keys)
    world.put('bulk', [await seal(otp(1), k1.shared), otp(2), await seal(otp(3), k2.shared)])
    await until(world, () => world.results().length === 2)
    expect(world.sent('default').toSorted()).toEqual([2, 3])
    keys.now = [k2.own, k1.own]
    await until(world, () => world.results().length === 3)
    expect(world.sent('default')).toContain(1)
    expect(world.letters().length).toBe(0)
  })

  test('becomes a dead letter after 10 s, whose replay is sent once the key is there', async () => {
    const keys = { now: [k2.own] }
    const world = await startWithKeys(keys)
    world.put('bulk', [await seal(otp(1), k1.shared)])
    await world.pass(9_000)
    expect(world.letters().length).toBe(0)
    await until(world, () => world.letters().length === 1)
    const [letter] = world.letters()
    expect(String(letter!.headers['busgate.error.code'])).toBe('KEY_NOT_FOUND')
    expect(String(letter!.headers['busgate.error.message'])).toContain('the key k1')
    expect(letter!.headers['busgate.error.perhaps-sent']).toBeUndefined()
    keys.now = [k1.own]
    world.append({ key: letter!.key, value: letter!.value })
    await until(world, () => world.results().length === 1)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  test('at its time becomes a dead letter, too, and its id is free for the replay', async () => {
    const keys = { now: [k1.own] }
    const world = await startWithKeys(keys)
    world.put('bulk', [await seal(otp(1, { notBefore: world.clock.now() + 60_000 }), k1.shared)])
    await until(world, () => world.broker.end({ topic: 'later', partition: 0 }) > 0)
    keys.now = [k2.own]
    await until(world, () => world.letters().length === 1, 1_000)
    keys.now = [k1.own]
    const [letter] = world.letters()
    world.append({ key: letter!.key, value: letter!.value, headers: { 'busgate.replayed.record': 'bulk/0@0' } })
    await until(world, () => world.results().length === 1)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  test('does not hold up the others with keys of its own invention: only four are waited for', async () => {
    const world = await startWithKeys({ now: [k1.own] })
    const invented = await Promise.all(numbersFrom(1, 20).map(id => seal(otp(id), sealingKey(`invented-${id}`).shared)))
    world.put('bulk', [...invented, await seal(otp(21), k1.shared)])
    await until(world, () => world.results().length === 1 && world.letters().length === 20, 50)
    const offsets = world.letters().map(({ headers }) => Number(headers['busgate.error.offset']))
    expect(offsets.slice(-4).toSorted()).toEqual([0, 1, 2, 3])
  })
})

/** Nobody answers a command; the gateway knows no status. */
const unanswered: SendingOptions = {
  takes: ({ operations }) => (operations[0]!.type === 'status' ? 0 : Infinity),
}
const quick = { gateway: { timeoutMs: 100 }, doubts: { waitMs: 100, polls: 1 } }
const finals = (world: World) => world.results().filter(({ final }) => final)

describe('a sealed command that was perhaps sent', () => {
  test.each([
    ['without its key', { keys: keySet(k2.own) }],
    ['that no key opens', { keys: keySet({ ...sealingKey('k1').own }) }],
    ['whose country, parts or seal the settings refuse now', { keys: keySet(k1.own), required: 'default' }],
  ])('is taken over as a doubt and ends UNRESOLVED or SENT %s, never as a letter', async (_, sealing) => {
    const world = await start(unanswered)
    world.put('bulk', [await seal(otp(1, { delivery: 'AT_MOST_ONCE' }), k1.shared)])
    await until(world, () => world.postsOf(1) === 1)
    await world.takeOver({ settings: { sealing, gateway: { countries: 'PL' } } })
    await world.pass(200_000, 1_000)
    await until(world, () => finals(world).length === 1)
    expect(finals(world)).toMatchObject([{ outcome: 'UNRESOLVED', type: 'sms' }])
    expect([world.postsOf(1), world.letters().length]).toEqual([1, 0])
  })

  test.each([
    ['is sent again with its key', [k1.own], { outcome: 'SENT', attempts: 2 }, 1],
    [
      'is not without it, and says so',
      [k2.own],
      { outcome: 'UNRESOLVED', error: expect.stringContaining('no worker has its key k1') },
      0,
    ],
  ])('under AT_LEAST_ONCE %s', async (_, keys, end, posts) => {
    const world = await start({ settings: { ...withKeys(...keys), ...quick } })
    world.doubted(1, {}, await seal(otp(1, { delivery: 'AT_LEAST_ONCE' }), k1.shared))
    await until(world, () => finals(world).length === 1)
    expect(finals(world)).toMatchObject([end])
    expect([world.postsOf(1), world.letters().length]).toEqual([posts, 0])
  })

  test('is SENT by a callback, whatever its key', async () => {
    const world = await start({ settings: { ...withKeys(k2.own), ...quick } })
    world.doubted(1, {}, await seal(otp(1), k1.shared))
    world.calledBack(1)
    await until(world, () => finals(world).length === 1)
    expect(finals(world)).toMatchObject([{ outcome: 'SENT' }])
  })
})

describe('without the key, after the progress of the group was reset, a sealed command', () => {
  test('that was answered has no second result, and its repetition is a duplicate', async () => {
    const keys = { now: [k1.own] }
    const world = await startWithKeys(keys)
    const [first, repeated] = [await seal(otp(1), k1.shared), await seal(otp(1), k2.shared)]
    world.put('bulk', [first])
    await until(world, () => world.results().length === 1)
    await world.takeOver({
      settings: withKeys(k2.own),
      meanwhile: () => world.broker.resetOffset('busgate', { topic: 'bulk', partition: 0 }, 0),
    })
    world.put('bulk', [repeated])
    await until(world, () => world.results().length === 2)
    await world.pass(15_000)
    expect(world.results().map(({ outcome }) => outcome)).toEqual(['SENT', 'DUPLICATE'])
    expect([world.postsOf(1), world.letters().length]).toEqual([1, 0])
  })

  test('that may have been in flight is in doubt, and no letter', async () => {
    const world = await start(unanswered)
    world.put('bulk', [await seal(otp(1, { delivery: 'AT_MOST_ONCE' }), k1.shared)])
    await until(world, () => world.postsOf(1) === 1)
    await world.takeOver({
      settings: withKeys(k2.own),
      meanwhile: () => world.broker.resetOffset('busgate', { topic: 'bulk', partition: 0 }, 0),
    })
    await world.pass(200_000, 1_000)
    await until(world, () => finals(world).length === 1)
    expect(finals(world)).toMatchObject([{ outcome: 'UNRESOLVED' }])
    expect([world.postsOf(1), world.letters().length]).toEqual([1, 0])
  })
})

test.each<[string, Partial<SendCommand>]>([
  ['waits for its time', { notBefore: Date.UTC(2026, 2, 14, 13) }],
  ['waits in the queue', {}],
])('a command with the id of one that %s is a duplicate, whatever its content and its key', async (_, first) => {
  const world = await start({ settings: withKeys(k1.own) })
  world.control(buildPause({ kind: 'account', name: 'default' }))
  world.put('bulk', [await seal(otp(1, first), k1.shared)])
  await world.pass(1_000)
  world.put('bulk', [await seal(otp(1), k3.shared), sealedAs(await jweOf({ id: '7' }))])
  await until(world, () => world.results().length === 2)
  expect(world.results()).toMatchObject([
    { outcome: 'DUPLICATE', commandOffset: 1 },
    { outcome: 'DUPLICATE', commandOffset: 2 },
  ])
})

describe.each<[string, () => SendCommand | Promise<SendCommand>, string]>([
  ['is sealed with a missing key', () => seal(otp(1), k3.shared), 'DUPLICATE'],
  ['is invalid', () => otp(1, { extra: { phone: '1' } }), 'INVALID'],
])('after a reset, a command that %s, and has the id of an earlier one', (_, made, outcome) => {
  const pause = { kind: 'topic', name: 'bulk' } as const
  const takeOverReset = (world: World) =>
    world.takeOver({
      settings: withKeys(k1.own),
      meanwhile: () => world.broker.resetOffset('busgate', { topic: 'bulk', partition: 0 }, 0),
    })
  const ofSecond = (world: World) => world.results().filter(({ commandOffset }) => commandOffset === 1)

  test('that waits is no doubt', async () => {
    const world = await start({ ...unanswered, settings: withKeys(k1.own) })
    world.control(buildPause(pause))
    world.put('bulk', [otp(1), await made()])
    await takeOverReset(world)
    await until(world, () => ofSecond(world).length > 0, 1_000)
    expect(ofSecond(world)).toMatchObject([{ outcome, final: true }])
  })

  test('that was sent is no doubt, which a callback about that one would prove SENT', async () => {
    const world = await start({ settings: withKeys(k1.own) })
    world.put('bulk', [otp(1)])
    await until(world, () => world.results().length === 1)
    world.calledBack(1)
    world.control(buildPause(pause))
    await world.pass(1_000)
    world.put('bulk', [await made()])
    await takeOverReset(world)
    world.control(buildResume(pause))
    await until(world, () => ofSecond(world).some(({ final }) => final), 1_000)
    expect(ofSecond(world)).toMatchObject([{ outcome: 'DUPLICATE', final: true }])
  })
})

test('after a reset, a command that waits for its earlier answer is not SENT by what a later one with its id brings about', async () => {
  const read = { now: Promise.resolve() }
  const hop = async (step: string) => (step === 'fetch results/0' ? read.now : undefined)
  const world = await start({ hop, settings: quick })
  const pause = { kind: 'topic', name: 'bulk' } as const
  world.put('bulk', [otp(2)])
  await until(world, () => finals(world).length === 1)
  world.control(buildPause(pause))
  world.put('bulk', [otp(1, { extra: { phone: '1' } })])
  const { promise, resolve: release } = Promise.withResolvers<void>()
  read.now = promise
  const reset = () => world.broker.resetOffset('busgate', { topic: 'bulk', partition: 0 }, 0)
  await world.takeOver({ settings: quick, meanwhile: reset })
  world.control(buildResume(pause))
  world.put('bulk', [otp(1)])
  await until(world, () => world.postsOf(1) === 1, 1_000)
  world.calledBack(1)
  release()
  await until(world, () => finals(world).length === 3, 1_000)
  const ofOne = finals(world).filter(({ id }) => id === 1n)
  expect(ofOne.sort((a, b) => Number(a.commandOffset - b.commandOffset))).toMatchObject([
    { outcome: 'UNRESOLVED', error: expect.stringContaining('another record has this id') },
    { outcome: 'SENT' },
  ])
})

test.each<[string, (value: SendCommand) => SendCommand | Promise<SendCommand>]>([
  ['in the clear', value => value],
  ['in the clear, which is invalid', value => ({ ...value, extra: { phone: '1' } })],
  ['sealed with a missing key', value => seal(value, k3.shared)],
  ['that does not open', async value => ({ ...(await seal(value, k1.shared)), phone: 380671234567 })],
])(
  'after a reset, content of an account that no worker can have is INVALID, and no doubt for ever: %s',
  async (_, made) => {
    const world = await start({ ...unanswered, settings: withKeys(k1.own) })
    world.control(buildPause({ kind: 'topic', name: 'bulk' }))
    world.put('bulk', [otp(1), await made(otp(2, { account: 'No Account' }))])
    await world.takeOver({
      settings: withKeys(k1.own),
      meanwhile: () => world.broker.resetOffset('busgate', { topic: 'bulk', partition: 0 }, 0),
    })
    await until(world, () => world.results().some(({ id }) => id === 2n), 1_000)
    expect(world.results().filter(({ id }) => id === 2n)).toMatchObject([{ outcome: 'INVALID', final: true }])
  },
)

test('an error of busgate while it opens one command is the outcome of that command alone', async () => {
  const world = await start()
  const keys = world.settings.sealing.keys!
  let faults = 1
  world.settings.sealing.keys = new Secret(() => {
    if (faults-- > 0) throw new TypeError('a bug')
    return keys.reveal()
  })
  world.put('bulk', [await seal(otp(1), k1.shared), await seal(otp(2), k1.shared)])
  await until(world, () => world.results().length === 1 && world.letters().length === 1)
  expect(world.sent('default')).toEqual([2])
  expect(String(world.letters()[0]!.headers['busgate.error.code'])).toBe('INTERNAL_ERROR')
})

test('after a restart, the id of a sealed command is known without opening it', async () => {
  const world = await start()
  world.put('bulk', [await seal(otp(1), k1.shared)])
  await until(world, () => world.results().length === 1)
  await world.takeOver({ settings: withKeys(k2.own) })
  world.put('bulk', [otp(1)])
  await until(world, () => world.results().length === 2)
  expect(world.results().map(({ outcome }) => outcome)).toEqual(['SENT', 'DUPLICATE'])
})

test('the content is in the clear on no topic: not on commands, results, doubts or dead letters', async () => {
  const keys = { now: [k1.own, k2.own, k3.own] }
  const lost = new Set([3, 4])
  const world = await startWithKeys(keys, {
    settings: { ...withKeys(k1.own), ...quick },
    answer: ([operation]) => (lost.delete(operation!.id) ? { kind: 'lost', cause: 'timeout', message: 'lost' } : null),
    gateway: { maxOperations: 1, timeoutMs: 100 },
  })
  const unread = sealingKey('gone')
  world.put('bulk', [
    await seal(otp(1), k1.shared),
    await seal(otp(1), k2.shared), // a duplicate
    await seal(otp(2, { deadline: 1 }), k3.shared),
    await seal(otp(3, { delivery: 'AT_LEAST_ONCE' }), k1.shared),
    await seal(otp(4, { delivery: 'AT_MOST_ONCE' }), k1.shared),
    await seal(otp(5), unread.shared),
    sealedAs(await jweOf({ id: '6' }, { sms_message: secretText, [secretText]: 1 }), 'sms', { id: 6n }),
    sealedAs(await jweOf({ id: '7' }, secretText), 'sms', { id: 7n }),
    sealedAs(await jweOf({ id: '8' }, { sms_message: secretText }), 'sms', { id: 9n }),
  ])
  await until(world, () => finals(world).length === 8 && world.letters().length === 1, 50)
  const outcomes = new Set(world.results().map(({ outcome }) => outcome))
  expect(outcomes).toEqual(new Set(['SENT', 'DUPLICATE', 'EXPIRED', 'INVALID', 'IN_DOUBT', 'UNRESOLVED']))
  const { topics } = world.settings
  const bytes = [...topics.commands, topics.results, topics.doubts, topics.deadLetters, topics.statuses, topics.control]
    .flatMap(topic => world.broker.read({ topic, partition: 0 }, 0, 1_000_000).records)
    .map(({ key, value, headers }) => [key, value, ...Object.entries(headers).flat()].map(String).join(' '))
  expect(world.broker.end({ topic: topics.doubts, partition: 0 })).toBeGreaterThan(0)
  expect(bytes.filter(text => /zebra|0427|Your code/.test(text))).toEqual([])
})
