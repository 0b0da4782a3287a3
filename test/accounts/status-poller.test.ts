import { describe, expect, test } from 'vitest'
import { Account } from '../../src/accounts/account.ts'
import { type PollAnswer, StatusPoller } from '../../src/accounts/status-poller.ts'
import { parseJson } from '../../src/protocol/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { itemsAnswer, sentItem } from '../support/answers.ts'
import { ManualClock } from '../support/clock.ts'

function startPoller() {
  const clock = new ManualClock()
  const account = new Account({
    name: 'shop',
    apiKey: () => 'key',
    keyPlace: 'gateway.accounts.shop.apiKey',
    rate: undefined,
    clock,
    random: () => 1,
    telemetry: new Telemetry(),
  })
  let hasLease = true
  let requests = 0
  const poller = new StatusPoller({
    connection: {
      post: async (body, lastCheck) => {
        const withheld = lastCheck()
        if (withheld) return { kind: 'not_sent', cause: 'withheld', message: withheld }
        requests++
        const { data } = parseJson(body) as { data: { id: number }[] }
        return itemsAnswer(...data.map(({ id }) => sentItem(id, { status: 'DELIVERED' })))
      },
      distrust: () => {},
      close: async () => {},
    },
    maxOperations: 2,
    errorTexts: {},
    notFoundTexts: [],
    hasLease: () => hasLease,
    clock,
    telemetry: new Telemetry(),
    inSlot: async (_account, request) => {
      await null
      await request()
    },
  })
  const answers: PollAnswer['kind'][] = []
  return {
    clock,
    answers,
    requests: () => requests,
    ask(id: number, wanted = () => true) {
      void poller.ask(account, String(id), wanted).then(({ kind }) => answers.push(kind))
    },
    lease(holds: boolean) {
      hasLease = holds
    },
  }
}

describe('a status poll', () => {
  test('waits for the end of a rebalance', async () => {
    const world = startPoller()
    world.lease(false)
    for (const id of [1, 2, 3]) world.ask(id)
    await world.clock.pass(5000)
    expect(world.answers).toEqual([])
    world.lease(true)
    await world.clock.pass(1000)
    expect(world.answers).toEqual(['sent', 'sent', 'sent'])
    expect(world.requests()).toBe(2)
  })

  test('is postponed if the lease ends right before its request', async () => {
    const world = startPoller()
    world.ask(1)
    world.lease(false)
    await world.clock.pass(1000)
    expect(world.answers).toEqual([])
    world.lease(true)
    await world.clock.pass(1000)
    expect(world.answers).toEqual(['sent'])
  })

  test('is dropped when its answer is no longer needed', async () => {
    const world = startPoller()
    let wanted = true
    world.lease(false)
    world.ask(1, () => wanted)
    await world.clock.pass(1000)
    wanted = false
    await world.clock.pass(1000)
    expect(world.answers).toEqual(['in_doubt'])
    expect(world.requests()).toBe(0)
  })
})
