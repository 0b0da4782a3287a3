import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import type { RecordHeaders } from '../../src/bus/port.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { itemsAnswer, refusal, refusedItem } from '../support/answers.ts'
import { buildCommand } from '../support/commands.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { alone, type SendingOptions, startSendingWorld } from '../support/sending.ts'

/*
 * An id is used by a record that was sent, was perhaps sent, or waits to be. Whatever ended a record otherwise has not used its
 * id, before and after a take-over.
 */

type World = Awaited<ReturnType<typeof startSendingWorld>>

const outcomesOf = ({ results }: World, id: number) =>
  results()
    .filter(result => Number(result.id) === id && result.final)
    .map(({ outcome }) => outcome)

const late = { deadline: 1 }

const refuseAll: SendingOptions = { answer: operations => itemsAnswer(...operations.map(({ id }) => refusedItem(id))) }

const ends: [how: string, first: Partial<SendCommand>, outcome: string, isUsed: boolean, options: SendingOptions][] = [
  ['was sent', {}, 'SENT', true, {}],
  ['was refused by the gateway', {}, 'REJECTED', true, refuseAll],
  ['expired', late, 'EXPIRED', false, {}],
]

const takeOvers: [when: string, (world: World) => Promise<void>][] = [
  ['in the same session', async () => {}],
  ['after a take-over', world => world.takeOver()],
  [
    'after two take-overs',
    async world => {
      await world.takeOver()
      await world.pass(1_000)
      await world.takeOver()
    },
  ],
]

/** Starts a world whose first command, of id 1, became a dead letter because the registry lagged; now it answers. */
async function startAfterDeadLetter(): Promise<World> {
  const registry = laggingRegistry()
  const world = await startSendingWorld({ registry })
  registry.isLagging = true
  await world.takeOver()
  world.send(1)
  await world.pass(30_000)
  expect(world.letters()).toHaveLength(1)
  registry.isLagging = false
  await world.pass(70_000)
  return world
}

describe.each(takeOvers)('%s', (_, takeOver) => {
  test.each(ends)('a repeated id whose first record %s', async (_how, first, outcome, isUsed, options) => {
    const world = await startSendingWorld(options)
    world.send(1, first)
    await world.pass(2_000)
    await takeOver(world)
    world.send(1)
    await world.pass(12_000)
    expect(outcomesOf(world, 1)).toEqual([outcome, isUsed ? 'DUPLICATE' : 'SENT'])
    world.send(1)
    await world.pass(12_000)
    expect(outcomesOf(world, 1).at(-1)).toBe('DUPLICATE')
    expect(world.postsOf(1)).toBe(1)
  })

  test.each([
    ['is an hour ahead', 1],
    ['will be ahead for hours', 9],
  ])('a repeated id whose first record was sent, although the clock of its producer %s', async (_how, hoursAhead) => {
    const hour = 3_600_000
    const world = await startSendingWorld()
    world.put('bulk', [buildCommand({ id: 1n })], 0, world.clock.now() + hoursAhead * hour)
    await world.pass(2 * hour, 60_000)
    await takeOver(world)
    world.send(1)
    await world.pass(12_000)
    expect([outcomesOf(world, 1), world.postsOf(1)]).toEqual([['SENT', 'DUPLICATE'], 1])
  })

  test('a dead letter that is replayed is sent, and sent once however often it is replayed', async () => {
    const world = await startAfterDeadLetter()
    await takeOver(world)
    const record = world.broker.read({ topic: 'bulk', partition: 0 }, 0, 1).records[0]!
    const replay = (headers: RecordHeaders) => world.append({ key: record.key, value: record.value, headers })
    replay({ 'busgate.replayed.record': 'bulk/0@0' })
    await world.pass(12_000)
    expect(outcomesOf(world, 1)).toEqual(['SENT'])
    replay({ 'busgate.replayed.record': 'bulk/0@0' })
    await world.pass(12_000)
    await takeOver(world)
    replay({ 'busgate.replayed.record': 'bulk/0@0' })
    await world.pass(12_000)
    expect(outcomesOf(world, 1)).toEqual(['SENT', 'DUPLICATE', 'DUPLICATE'])
    expect(world.postsOf(1)).toBe(1)
  })

  test('a dead letter whose producer writes the command again has not used its id', async () => {
    const world = await startAfterDeadLetter()
    await takeOver(world)
    world.send(1)
    await world.pass(12_000)
    expect(outcomesOf(world, 1)).toEqual(['SENT'])
  })
})

test('what became of the first record is looked up once, however often its id is repeated', async () => {
  const world = await startSendingWorld()
  world.send(1)
  await world.pass(2_000)
  await world.takeOver()
  const search = vi.spyOn(MemoryBus.prototype, 'search')
  onTestFinished(() => search.mockRestore())
  const searches = () => search.mock.calls.filter(([{ topic }]) => topic === world.settings.topics.results).length
  world.send(1)
  await world.pass(2_000)
  const first = searches()
  expect(first).toBeGreaterThan(0)
  for (let i = 0; i < 20; i++) {
    world.send(1)
    await world.pass(200)
  }
  expect(outcomesOf(world, 1)).toEqual(['SENT', ...Array(21).fill('DUPLICATE')])
  expect(searches()).toBe(first)
})

test('what is being sent uses its id, also after its session was lost and opened again', async () => {
  let isLost = false
  const world = await startSendingWorld({
    accounts: alone,
    takes: () => 10_000,
    hop: async (step, way) => {
      if (!isLost || way !== 'there' || !step.startsWith('commit')) return
      isLost = false
      throw new Error('no answer')
    },
  })
  const lost: string[] = []
  world.telemetry.on('session.lost', ({ topic }) => lost.push(topic))
  world.send(1)
  await world.pass(500)
  isLost = true
  world.send(2)
  await world.pass(2_000) // the commit of its intent fails
  expect(lost).toContain('bulk')
  world.send(1)
  await world.pass(30_000)
  expect(outcomesOf(world, 1).toSorted()).toEqual(['DUPLICATE', 'SENT'])
  expect([world.postsOf(1), world.postsOf(2)]).toEqual([1, 1])
})

test('what was perhaps sent has used its id, also after a take-over', async () => {
  const world = await startSendingWorld({
    takes: ({ operations }) => (operations[0]!.type === 'status' ? 0 : Infinity),
  })
  world.send(1, { delivery: 'AT_MOST_ONCE' })
  await world.pass(1_000)
  await world.takeOver()
  world.send(1, { delivery: 'AT_MOST_ONCE' })
  await world.pass(300_000, 1_000)
  expect(outcomesOf(world, 1).toSorted()).toEqual(['DUPLICATE', 'UNRESOLVED'])
  await world.takeOver()
  world.send(1, { delivery: 'AT_MOST_ONCE' })
  await world.pass(20_000)
  expect(outcomesOf(world, 1).toSorted()).toEqual(['DUPLICATE', 'DUPLICATE', 'UNRESOLVED'])
  expect(world.postsOf(1)).toBe(1)
})

test('a record that a reset has skipped has not used its id', async () => {
  const world = await startSendingWorld()
  const tp = { topic: 'bulk', partition: 0 }
  world.send(1)
  await world.pass(2_000)
  await world.stop()
  world.send(2)
  world.broker.resetOffset('busgate', tp, 2)
  await world.startAnother({})
  for (const id of [1, 2]) world.send(id)
  await world.pass(12_000)
  expect([outcomesOf(world, 1), outcomesOf(world, 2)]).toEqual([['SENT', 'DUPLICATE'], ['SENT']])
})

test.each([
  ['says no more where the result of the first is known', false, 'the id was seen on this partition before'],
  ['says so where the results were deleted', true, /, and what became of the earlier record cannot be found$/],
])('after a take-over, the error of a repeated id %s', async (_, isDeleted, error) => {
  const world = await startSendingWorld()
  world.send(1)
  await world.pass(2_000)
  const results = { topic: 'results', partition: 0 }
  if (isDeleted) world.broker.cut(results, { start: world.broker.end(results) })
  await world.takeOver()
  world.send(1)
  await world.pass(12_000)
  const repeated = { outcome: 'DUPLICATE', error: typeof error === 'string' ? error : expect.stringMatching(error) }
  expect(world.results().at(-1)).toMatchObject(repeated)
})

test('a repeat waits for the end of a record that this process has sent, but not committed yet', async () => {
  let isSlow = false
  const world = await startSendingWorld({
    hop: async step => {
      if (isSlow && step.startsWith('commit')) throw new Error('the broker is away')
    },
  })
  world.send(1)
  await world.pass(30)
  isSlow = true
  await world.pass(1_000)
  world.send(1)
  await world.pass(3_000)
  isSlow = false
  await world.pass(20_000)
  expect(outcomesOf(world, 1)).toEqual(['SENT', 'DUPLICATE'])
  expect(world.postsOf(1)).toBe(1)
})

test('an id that a dead worker has perhaps sent is used at once, although an earlier record of it has expired', async () => {
  const world = await startSendingWorld({
    takes: ({ operations }) => (operations[0]!.type === 'status' ? 0 : Infinity),
  })
  world.send(1, late)
  world.send(1, { delivery: 'AT_MOST_ONCE' })
  await world.pass(1_000)
  world.send(1, { delivery: 'AT_MOST_ONCE' })
  await world.takeOver()
  await world.pass(300_000, 1_000)
  expect(outcomesOf(world, 1).toSorted()).toEqual(['DUPLICATE', 'EXPIRED', 'UNRESOLVED'])
  expect(world.postsOf(1)).toBe(1)
})

test('a command that still waits after a take-over is sent, although its repeats have ended DUPLICATE', async () => {
  let denied = true
  const world = await startSendingWorld({ answer: () => (denied ? refusal('Access denied') : null) })
  for (let i = 0; i < 3; i++) world.send(1)
  await world.pass(2_000)
  expect(outcomesOf(world, 1)).toEqual(['DUPLICATE', 'DUPLICATE'])
  await world.takeOver()
  denied = false
  await world.pass(60_000, 500)
  expect(outcomesOf(world, 1)).toEqual(['DUPLICATE', 'DUPLICATE', 'SENT'])
})

/** Command 1 was perhaps sent, and became a dead letter because its schema was missing to its next owner. */
async function startPerhapsSent() {
  const registry = registryWithOther()
  const world: World = await startSendingWorld({ registry, takes: () => (world.letters().length > 0 ? 0 : Infinity) })
  writeWithOther(world, 1)
  await world.pass(1_000)
  registry.isLagging = true
  await world.takeOver()
  await untilLetters(world, 1)
  return { registry, world }
}

describe('a repeated id whose first record expired counts as used, because a send cannot be ruled out,', () => {
  async function startAfterExpiry(options: SendingOptions = {}) {
    const world = await startSendingWorld(options)
    world.send(1, late)
    await world.pass(2_000)
    expect(outcomesOf(world, 1)).toEqual(['EXPIRED'])
    await world.takeOver()
    return world
  }

  async function expectDuplicate(world: World) {
    world.send(1)
    await world.pass(30_000)
    expect(outcomesOf(world, 1).at(-1)).toBe('DUPLICATE')
    expect(world.postsOf(1)).toBe(0)
  }

  test('while the registry lacks the schema of its result', async () => {
    const registry = laggingRegistry()
    const world = await startAfterExpiry({ registry })
    registry.isLagging = true
    await expectDuplicate(world)
  })

  test('if a record with the id among the results is no result', async () => {
    const world = await startAfterExpiry()
    const record = { topic: 'results', partition: 0, key: Buffer.from('1'), value: Buffer.from('foreign') }
    world.broker.append([record], world.clock.now())
    world.send(1)
    await world.pass(30_000)
    expect([world.postsOf(1), world.gauge('window_used_ratio')]).toEqual([0, 0])
  })

  test('if results of that time have been deleted', async () => {
    const world = await startAfterExpiry()
    const results = { topic: 'results', partition: 0 }
    world.broker.cut(results, { start: world.broker.end(results) })
    await expectDuplicate(world)
  })

  test('if the dead letters cannot be searched', async () => {
    const world = await startAfterExpiry()
    const search = vi.spyOn(MemoryBus.prototype, 'search').mockRejectedValue(new Error('not authorized'))
    onTestFinished(() => search.mockRestore())
    await expectDuplicate(world)
  })
})

test('a dead letter that was perhaps sent has used its id', async () => {
  const registry = laggingRegistry()
  const world = await startSendingWorld({ registry, takes: () => Infinity })
  world.send(1)
  await world.pass(1_000)
  registry.isLagging = true
  await world.takeOver()
  await world.pass(30_000)
  expect(world.letters().map(({ headers }) => headers['busgate.error.perhaps-sent'])).toEqual(['true'])
  registry.isLagging = false
  await world.pass(70_000)
  await world.takeOver()
  world.send(1)
  await world.pass(30_000)
  expect(outcomesOf(world, 1)).toEqual(['DUPLICATE'])
  expect(world.postsOf(1)).toBe(1)
})

/** A schema id that the registry can lose while it has all others. */
const other = 99

/** A registry in which the schema of commands has two ids, one of which is missing while `isLagging`. */
function registryWithOther() {
  const inner = embeddedRegistry()
  const lagging = laggingRegistry({
    idOf: inner.idOf,
    schemaOf: async id => (id === other ? schemas.command : inner.schemaOf(id)),
  })
  lagging.only = other
  return lagging
}

/** Writes a command with the schema id that may be missing. */
function writeWithOther(world: World, id: number): void {
  const value = world.encode({ id: BigInt(id), delivery: 'AT_MOST_ONCE' })
  value.writeUInt32BE(other, 1)
  world.append({ key: String(id), value })
}

const replay = (world: World, offset: number) => {
  const { key, value } = world.broker.read({ topic: 'bulk', partition: 0 }, offset, 1).records[0]!
  world.append({ key, value, headers: { 'busgate.replayed.record': `bulk/0@${offset}` } })
}

const untilLetters = async (world: World, count: number) => {
  await world.pass(15_000)
  expect(world.letters()).toHaveLength(count)
}

describe.each(takeOvers)('%s', (_, takeOver) => {
  test('an id that was sent stays used, although a later dead letter with it is replayed', async () => {
    const registry = registryWithOther()
    registry.isLagging = true
    const world = await startSendingWorld({ registry })
    world.send(1)
    await world.pass(2_000)
    writeWithOther(world, 1)
    await untilLetters(world, 1)
    registry.isLagging = false
    await world.pass(70_000)
    await takeOver(world)
    replay(world, 1)
    await world.pass(12_000)
    expect([outcomesOf(world, 1), world.postsOf(1)]).toEqual([['SENT', 'DUPLICATE'], 1])
  })

  test('an id that was perhaps sent stays used, although a later dead letter with it is replayed', async () => {
    const { registry, world } = await startPerhapsSent()
    writeWithOther(world, 1)
    await untilLetters(world, 2)
    expect(world.letters().map(({ headers }) => headers['busgate.error.perhaps-sent'])).toEqual(['true', undefined])
    registry.isLagging = false
    await world.pass(70_000)
    await takeOver(world)
    replay(world, 1)
    await world.pass(12_000)
    world.send(1)
    await world.pass(12_000)
    expect([outcomesOf(world, 1), world.postsOf(1)]).toEqual([['DUPLICATE', 'DUPLICATE'], 1])
    replay(world, 0)
    await world.pass(12_000)
    expect([outcomesOf(world, 1).at(-1), world.postsOf(1)]).toEqual(['SENT', 2])
  })
})

test('an id that was perhaps sent is free in another account, once its record can be read', async () => {
  const { registry, world } = await startPerhapsSent()
  registry.isLagging = false
  await world.takeOver()
  world.send(1, { account: 'other' })
  await world.pass(12_000)
  world.send(1)
  await world.pass(12_000)
  expect(world.results().map(({ account, outcome }) => [account, outcome])).toEqual([
    ['other', 'SENT'],
    ['default', 'DUPLICATE'],
  ])
})

test('a command that was perhaps sent and waits for its schema has used its id', async () => {
  const registry = registryWithOther()
  const world = await startSendingWorld({
    registry,
    takes: ({ operations }) => (operations[0]!.type === 'status' ? 0 : Infinity),
  })
  writeWithOther(world, 1)
  await world.pass(1_000)
  registry.isLagging = true
  await world.takeOver()
  world.send(1)
  await world.pass(5_000)
  registry.isLagging = false
  await world.pass(300_000, 1_000)
  expect([outcomesOf(world, 1), world.postsOf(1)]).toEqual([['DUPLICATE', 'UNRESOLVED'], 1])
})

test.each([
  ['was sent', false, ['SENT', 'DUPLICATE']],
  ['became a dead letter', true, ['SENT']],
])('an id whose record %s is known as before while the registry lacks its schema', async (_, isLetter, outcomes) => {
  const registry = registryWithOther()
  registry.isLagging = isLetter
  const world = await startSendingWorld({ registry })
  writeWithOther(world, 1)
  await untilLetters(world, isLetter ? 1 : 0)
  registry.isLagging = true
  await world.takeOver()
  world.send(1)
  await world.pass(30_000)
  expect([outcomesOf(world, 1), world.postsOf(1)]).toEqual([outcomes, 1])
})

test.each(['results', 'deadLetters'] as const)(
  'a command that still waits after a take-over is sent, although %s get another record while they are read',
  async use => {
    let denied = true
    const asked: string[] = []
    let onSecondLook = () => {}
    const world = await startSendingWorld({
      answer: () => (denied ? refusal('Access denied') : null),
      hop: async (step, way) => {
        if (way === 'there' && step.startsWith('look through') && asked.push(step) === 3) onSecondLook()
      },
    })
    const { broker, settings, clock } = world
    const tp = { topic: settings.topics[use], partition: 0 }
    world.send(1)
    world.send(1)
    await world.pass(2_000)
    expect(outcomesOf(world, 1)).toEqual(['DUPLICATE'])
    onSecondLook = () => {
      const [known] = broker.read(tp, 0, 1).records
      broker.append([{ ...tp, key: '1', value: known?.value ?? null }], clock.now())
    }
    await world.takeOver()
    denied = false
    await world.pass(60_000, 500)
    expect(asked.length).toBeGreaterThan(3)
    expect(outcomesOf(world, 1)).toContain('SENT')
  },
)
