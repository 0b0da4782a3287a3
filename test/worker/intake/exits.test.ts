import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Bus, BusRecord, OutgoingRecord, Session } from '../../../src/bus/port.ts'
import { loadSettings } from '../../../src/config/index.ts'
import { Controls } from '../../../src/control/controls.ts'
import { readCommand } from '../../../src/records/command.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import type { SendCommand } from '../../../src/records/generated.ts'
import { embeddedRegistry } from '../../../src/records/registry.ts'
import { schemas } from '../../../src/records/schemas.ts'
import { type Events, Telemetry } from '../../../src/telemetry/events.ts'
import { CommandIntake } from '../../../src/worker/intake/command-intake.ts'
import { Opener } from '../../../src/worker/intake/opener.ts'
import { SchemaWaits } from '../../../src/worker/intake/schema-wait.ts'
import { Turns } from '../../../src/worker/intake/turns.ts'
import { UnknownAccounts } from '../../../src/worker/intake/unknown-accounts.ts'
import { Later } from '../../../src/worker/later/later.ts'
import { LaterTable } from '../../../src/worker/later/table.ts'
import type { Pending } from '../../../src/worker/pending.ts'
import { Settler } from '../../../src/worker/settler.ts'
import { encodeCommand, recordOf } from '../../records/codec.ts'
import { ManualClock } from '../../support/clock.ts'
import { buildCommand, buildCommandOf } from '../../support/commands.ts'

/*
 * Each way in which a record can leave the intake, for each kind in which it can arrive. Only its kind decides whether it may
 * have been sent.
 */

const kinds = ['new', 'recalled', 'doubted', 'past'] as const

const registry = embeddedRegistry()
const encode = (overrides: Partial<SendCommand> = {}) => encodeCommand(buildCommand(overrides), registry)
const unreadable = { code: 'BATCH_CORRUPT', message: 'it is damaged', lastOffset: 7 } as const

/** The value of a record, or a record without one. Its comment: how it ends if it is new. */
const records: Record<string, () => Promise<Partial<BusRecord>>> = {
  valid: async () => ({ value: await encode() }), // ready to be sent
  repeated: async () => ({ value: await encode({ id: 77n }) }), // DUPLICATE
  late: async () => ({ value: await encode({ deadline: 1 }) }), // EXPIRED
  invalid: async () => ({ value: await encode({ message: buildCommandOf('sms', {}, { sms_message: '' }).message }) }), // INVALID
  'of an unknown account': async () => ({ value: await encode({ account: 'unknown' }) }), // INVALID
  'without a value': async () => ({ value: null }), // the others become dead letters
  'in another format': async () => ({ value: Buffer.from('{"id":1}') }),
  'with a negative schema id': async () => ({ value: recordOf(0x90000000, [2, 2]) }),
  'with an unknown schema': async () => ({ value: recordOf(4711, [2, 2]) }),
  truncated: async () => ({ value: (await encode()).subarray(0, 30) }),
  'with bytes after it': async () => ({ value: Buffer.concat([await encode(), Buffer.from('!')]) }),
  'that is huge': async () => ({ value: Buffer.alloc(2 << 20) }),
  'in a damaged batch': async () => ({ value: null, unreadable }),
  'that busgate fails on': async () => ({ value: await encode({ tenant: 'poison' }) }),
}

async function takeIn(kind: (typeof kinds)[number], record: Partial<BusRecord>) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const faults: Events['fault.contained'][] = []
  telemetry.on('fault.contained', fault => void faults.push(fault))
  const settled = new Map<number, readonly OutgoingRecord[]>()
  const session = {
    ...{ topic: 'commands', partition: 0, open: true, alive: true, uncheckedUntil: 0, forgotten: null },
    made: (_: BusRecord, bytes: number) => bytes,
    committed: async () => {},
    run: (work: () => void) => work(),
    settle: (offset: number, records: readonly OutgoingRecord[]) => {
      expect(settled.has(offset)).toBe(false)
      settled.set(offset, records)
    },
  } as unknown as Session
  const decoder = createDecoder<SendCommand>(schemas.command, registry, { clock })
  await decoder.prepare(await registry.idOf('commands-value', schemas.command))
  await decoder.prepare(4711)
  const writeResult = (_: unknown, __: unknown, { outcome }: { outcome: string }) => recordTo('results', outcome)
  const ready: Pending[] = []
  const controls = new Controls(loadSettings({ env: {} }), clock)
  const bus = {
    lookAt: async () => ({ id: '1', partitions: 1, leaderless: [] }),
    firstTimes: async () => [null],
  } as unknown as Bus
  const table = new LaterTable({ bus, topic: 'later', clock, telemetry })
  Object.assign(session, { memo: `${await table.identity()}:-` })
  const later = new Later({
    table,
    accounts: new Map(),
    controls,
    writeResult,
    deadLetterTopic: 'letters',
    maxAgeMs: 0,
    clock,
    telemetry,
  })
  await later.opening(session)
  const intake = new CommandIntake(session, later.of(session), {
    ...{
      decoder,
      clock,
      telemetry,
      writeResult,
      lookup: { ask: () => {}, answersFor: () => undefined },
      earlierEnds: { usesOf: async () => () => 'used' as const },
      maxAgeMs: 86_400_000,
    },
    schemaWaits: new SchemaWaits({ clock, telemetry }),
    turns: new Turns(clock),
    opener: new Opener({ keys: () => [], readOpened: none, clock }),
    readCommand(value, trace, flaw) {
      if (value.tenant === 'poison') throw new TypeError('a bug')
      return readCommand(value, { hookFor: () => null, voiceHook: true, allowEmpty: false }, trace, flaw)
    },
    settler: new Settler(writeResult, () => recordTo('doubts', 'doubt'), telemetry),
    deadLetterTopic: 'letters',
    controls,
    horizon: () => null,
    unknownAccounts: new UnknownAccounts({ isKnown: () => true, maxAgeMs: 86_400_000, clock }),
    objection: ({ account }) => (account === 'unknown' ? { errorCode: 'VALIDATION', error: 'it is unknown' } : null),
    ready: pendings => void ready.push(...pendings),
  })
  const usual = { key: null, value: null, headers: {}, timestamp: clock.now() }
  const first = { ...usual, offset: 5, value: await encode({ id: 77n }) }
  intake.take([first], 'past')
  intake.take([{ ...usual, offset: 9, ...record }], kind)
  await clock.pass(0) // a repeated id is looked up
  return { records: settled.get(9), isReady: ready.some(({ offset }) => offset === 9), faults }
}

const none = () => {
  throw new Error('nothing is sealed')
}

const recordTo = (topic: string, value: string): OutgoingRecord => ({ topic, key: null, value: Buffer.from(value) })

const cases = Object.keys(records).flatMap(name => kinds.map(kind => ({ name, kind })))

test.each(cases)('a record $name that is $kind ends as its kind demands', async ({ name, kind }) => {
  const { records: written, isReady } = await takeIn(kind, await records[name]!())
  if (kind === 'past') {
    expect([written, isReady]).toEqual([undefined, false])
    return
  }
  const mayBeSent = name === 'valid' || (name === 'repeated' && kind === 'recalled')
  expect(isReady).toBe(mayBeSent && kind !== 'doubted')
  if (isReady) return
  const [first] = written!
  if (first!.topic === 'letters') {
    expect(first!.headers!['busgate.error.perhaps-sent']).toBe(kind === 'doubted' ? 'true' : undefined)
  } else if (kind === 'doubted') {
    expect(written!.map(({ topic, value }) => `${topic} ${value}`)).toEqual(['doubts doubt', 'results IN_DOUBT'])
  } else {
    expect(String(first!.value)).toMatch(/^(INVALID|EXPIRED|DUPLICATE)$/)
  }
})

test('an error of busgate itself is the dead letter of its record alone, and is told with place and stack', async () => {
  const { records: written, faults } = await takeIn('new', await records['that busgate fails on']!())
  expect(written![0]!.headers).toMatchObject({
    'busgate.error.stage': 'handle',
    'busgate.error.code': 'INTERNAL_ERROR',
    'busgate.error.offset': '9',
  })
  expect(faults).toMatchObject([
    { handling: 'command', place: { topic: 'commands', partition: 0, offset: 9 }, error: { name: 'TypeError' } },
  ])
  expect(faults[0]!.error.at.length).toBeGreaterThan(3)
})

test('every record ends once, in whatever kind it arrives and whatever its bytes', async () => {
  const anyBytes = fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.concat([Buffer.from([0]), bytes]))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...kinds), anyBytes, async (kind, value) => {
      const schemaId = value.length >= 5 ? value.readInt32BE(1) : 0
      fc.pre(schemaId <= 0 || schemaId === 4711 || schemaId === 1)
      const { records: written, isReady } = await takeIn(kind, { value })
      expect((written !== undefined) !== isReady).toBe(kind !== 'past')
    }),
    { numRuns: 200 },
  )
})
