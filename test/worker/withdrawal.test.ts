import { describe, expect, test } from 'vitest'
import { readControl } from '../../src/control/read.ts'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { startWorld } from '../support/worker.ts'

describe('a producer that withdraws', () => {
  test('a campaign takes back what was not sent, and every worker says who did it', async () => {
    const world = await startWorld()
    await world.producer.withdraw({ campaign: 'spring', reason: 'wrong price', by: 'crm' })
    await until(() => expect(world.worker.ready().withdrawn).toHaveLength(1))
    expect(world.worker.ready()).toMatchObject({
      ready: true,
      paused: [],
      withdrawn: [expect.stringMatching(/^campaign spring is withdrawn by crm since .*: wrong price$/)],
    })
    await world.send([buildCommand({ id: 1n, campaign: 'spring' }), buildCommand({ id: 2n })])
    await world.finished(2)
    expect(await world.resultOf(1n)).toMatchObject({
      ...{ outcome: 'EXPIRED', errorCode: 'WITHDRAWN', attempts: 0 },
      error: 'its campaign was withdrawn by crm: wrong price',
    })
    expect(await world.resultOf(2n)).toMatchObject({ outcome: 'SENT' })
  })

  test('a message that was never written changes nothing', async () => {
    const world = await startWorld()
    await world.producer.withdraw({ id: 9, account: 'nobody', reason: 'a slip' })
    await until(() => expect(world.worker.ready().withdrawn).toHaveLength(1))
    await world.send([buildCommand({ id: 9n })])
    await world.finished(1)
    expect(await world.resultOf(9n)).toMatchObject({ outcome: 'SENT' })
  })

  const now = Date.now()
  test.each([
    ['without a name', { campaign: '' }, 'needs the name of what is withdrawn'],
    [
      'with a name that is too long',
      { tenant: 'x'.repeat(1025) },
      'a name of 1025 bytes cannot be withdrawn: 1024 at most',
    ],
    ['of an id that no message has', { id: 0 }, 'id 0 must be a whole number from 1 to 2^63-1'],
    ['of two things', { tenant: 'acme', id: 1 }, 'name one of campaign, correlationId, tenant and id'],
    ['without a reason', { tenant: 'acme', reason: ' ' }, 'needs a reason'],
    ['with a long reason', { tenant: 'acme', reason: 'x'.repeat(501) }, '500 characters at most'],
    ['that is over', { tenant: 'acme', until: now - 1 }, 'must end after it begins'],
    ['without an end to speak of', { tenant: 'acme', until: now + 40 * 86_400_000 }, 'ends after 30 days at most'],
  ])('%s hears why that cannot be, and nothing is written', async (_, what, message) => {
    const world = await startWorld()
    await expect(world.producer.withdraw({ reason: 'wrong price', ...what })).rejects.toThrow(message)
    expect((await readControl(world.bus, world.settings)).changes).toEqual([])
  })
})
