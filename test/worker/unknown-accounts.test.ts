import { expect, test } from 'vitest'
import { itemsAnswer, sentItem } from '../support/answers.ts'
import { buildCommandOf, commandsFrom } from '../support/commands.ts'
import { startSendingWorld } from '../support/sending.ts'

type World = Awaited<ReturnType<typeof startSendingWorld>>

const ends = ({ results }: World) => results().map(({ id, outcome }) => `${id} ${outcome}`)

test('a command of an account that only the next version knows waits for it, and others are sent', async () => {
  const world = await startSendingWorld({ accounts: { default: undefined } })
  world.send(1, { account: 'shop' })
  world.send(2)
  await world.pass(120_000, 1_000)
  expect(ends(world)).toEqual(['2 SENT'])
  expect(world.sending.warnings()).toEqual([
    expect.stringMatching(
      /^account shop has been held back since \S+, because gateway\.accounts of its worker does not name it; 1 command waits/,
    ),
  ])
  expect(world.sending.reasons()).toEqual([])
  expect(world.gauge('oldest_unsent_command_age_seconds', 'bulk')).toBeGreaterThan(100)
  const accounts = { default: { apiKey: 'default' }, shop: { apiKey: 'shop' } }
  await world.takeOver({ settings: { gateway: { accounts } } })
  await world.pass(2_000)
  expect(ends(world)).toEqual(['2 SENT', '1 SENT'])
})

test('a command of an account that no settings can name ends INVALID at once', async () => {
  const world = await startSendingWorld()
  for (const [i, account] of ['', 'Shop', 'a b', '__proto__'].entries()) world.send(i + 1, { account })
  await world.pass(2_000)
  expect(ends(world)).toEqual(['1 INVALID', '2 INVALID', '3 INVALID', '4 INVALID'])
})

test('it ends INVALID once it is too old', async () => {
  const world = await startSendingWorld({
    accounts: { default: undefined },
    settings: { commands: { maxAgeMs: 600_000 } },
  })
  world.send(1, { account: 'shop' })
  await world.pass(590_000, 5_000)
  expect(ends(world)).toEqual([])
  await world.pass(30_000, 1_000)
  expect(world.results()).toMatchObject([
    { id: 1n, outcome: 'INVALID', error: expect.stringContaining('gateway.accounts knows: default') },
  ])
  expect(world.sending.warnings()).toEqual([])
})

test('its waiting never stops the partition: it ends INVALID when thousands of others have passed', async () => {
  const world = await startSendingWorld({ accounts: { default: undefined } })
  world.send(1, { account: 'typo' })
  for (let first = 2; first < 20_000; first += 2_000) {
    world.put('bulk', commandsFrom(first, 2_000))
    await world.pass(3_000)
  }
  expect(ends(world).filter(end => end.endsWith('SENT'))).toHaveLength(20_000)
  expect(ends(world).filter(end => !end.endsWith('SENT'))).toEqual(['1 INVALID'])
})

test('behind thousands of commands of made-up accounts others are sent without delay', async () => {
  const world = await startSendingWorld({ accounts: { default: undefined } })
  const madeUp = Array.from({ length: 40_000 }, (_, i) => commandsFrom(i + 2, 1, { account: `madeup${i}` })[0]!)
  world.put('bulk', madeUp)
  world.send(1)
  await world.pass(5_000)
  expect(ends(world).filter(end => end.endsWith('SENT'))).toEqual(['1 SENT'])
})

test('a doubt of an account that only the next version knows stays open until it can be asked for', async () => {
  const status = 'DELIVERED'
  const world = await startSendingWorld({
    accounts: { default: undefined },
    answer: operations =>
      operations[0]!.type === 'status' ? itemsAnswer(...operations.map(({ id }) => sentItem(id, { status }))) : null,
  })
  world.doubted(1, { account: 'shop' }, { account: 'shop', delivery: 'AT_MOST_ONCE' })
  await world.pass(3_600_000, 10_000)
  expect(ends(world)).toEqual([])
  expect(world.gauge('doubts_open')).toBe(1)
  expect(world.sending.warnings()).toEqual([
    expect.stringMatching(
      /^status polls of account shop have been held back since \S+, because gateway.accounts of its worker does not name it; 1 command waits with it\. The operator must add the account, or/,
    ),
  ])
  expect(world.sending.state().polls).toMatchObject([{ account: 'shop', reason: 'unknown', waiting: 1 }])
  const accounts = { default: { apiKey: 'default' }, shop: { apiKey: 'shop' } }
  await world.takeOver({ settings: { gateway: { accounts } } })
  await world.pass(120_000, 1_000)
  expect(ends(world)).toEqual(['1 SENT'])
})

test('a doubt that only a second try can end waits for its account, too', async () => {
  const world = await startSendingWorld({ accounts: { default: undefined } })
  const hlr = buildCommandOf('hlr', { account: 'shop', delivery: 'AT_LEAST_ONCE' })
  world.doubted(1, { type: 'hlr', account: 'shop' }, { ...hlr, id: 1n })
  await world.pass(600_000, 10_000)
  expect(ends(world)).toEqual([])
  const accounts = { default: { apiKey: 'default' }, shop: { apiKey: 'shop' } }
  await world.takeOver({ settings: { gateway: { accounts } } })
  await world.pass(120_000, 1_000)
  expect(ends(world)).toEqual(['1 SENT'])
})

test('a doubt of an account that nobody knows ends UNRESOLVED at its greatest age', async () => {
  const world = await startSendingWorld({
    accounts: { default: undefined },
    settings: { commands: { maxAgeMs: 600_000 } },
  })
  world.doubted(1, { account: 'shop' }, { account: 'shop' })
  await world.pass(700_000, 5_000)
  expect(ends(world)).toEqual(['1 UNRESOLVED'])
})

test('the warning counts the commands of each account from the oldest on, and names five accounts', async () => {
  const world = await startSendingWorld({ accounts: { default: undefined }, partitions: 2 })
  const at = (seconds: number) => new Date(world.clock.now() - seconds * 1_000).toISOString().slice(0, 19)
  const oldest = at(70)
  const put = (id: number, account: string, seconds: number, partition = 0) =>
    world.put('bulk', commandsFrom(id, 1, { account }), partition, world.clock.now() - seconds * 1_000)
  put(1, 'shop', 50)
  put(2, 'shop', 70, 1)
  put(3, 'shop', 60)
  await world.pass(1_000)
  expect(world.sending.warnings()).toEqual([
    expect.stringMatching(new RegExp(`^account shop has been held back since ${oldest}.* 3 commands wait`)),
  ])
  for (const [i, account] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) put(10 + i, account, 0)
  await world.pass(1_000)
  expect(world.sending.warnings().map(text => text.split(' ')[1])).toEqual([...['shop', 'a', 'b', 'c', 'd']])
})
