import { describe, expect, test } from 'vitest'
import { writeChange } from '../../src/control/change.ts'
import { readHistory } from '../../src/control/history.ts'
import { readControl } from '../../src/control/read.ts'
import { publishAll, until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { startWorld, type World } from '../support/worker.ts'

describe('a withdrawal by a producer', () => {
  test('of a campaign stops its unsent commands, and every worker shows who did it', async () => {
    const world = await startWorld()
    await world.producer.withdraw({ campaign: 'spring', reason: 'wrong price', by: 'crm' })
    await until(() =>
      expect(world.worker.ready()).toMatchObject({
        ready: true,
        reasons: [],
        paused: [],
        withdrawn: [expect.stringMatching(/^campaign spring is withdrawn by crm since .*: wrong price$/)],
      }),
    )
    await world.send([buildCommand({ id: 1n, campaign: 'spring' }), buildCommand({ id: 2n })])
    await world.finished(2)
    expect(await world.resultOf(1n)).toMatchObject({
      ...{ outcome: 'EXPIRED', errorCode: 'WITHDRAWN', attempts: 0 },
      error: 'its campaign was withdrawn by crm: wrong price',
    })
    expect(await world.resultOf(2n)).toMatchObject({ outcome: 'SENT' })
  })

  const now = Date.now()
  test.each([
    ['without a name', { campaign: '' }, 'needs the name of what is withdrawn'],
    [
      'with a name that is too long',
      { tenant: 'x'.repeat(1025) },
      'a name of 1025 bytes cannot be withdrawn: 1024 at most',
    ],
    ['of an invalid id', { id: 0 }, 'id must be a whole number from 1 to 2^63-1'],
    ['of two kinds at once', { tenant: 'acme', id: 1 }, 'name one of campaign, correlationId, tenant and id'],
    ['of a campaign that is no text', { campaign: null as never }, 'withdraw: campaign must be text'],
    ['of an account that is no text', { id: 1, account: null as never }, 'withdraw: account must be text'],
    ['for a reason that is no text', { tenant: 'acme', reason: 5 as never }, 'withdraw: reason must be text'],
    ['without a reason', { tenant: 'acme', reason: ' ' }, 'needs a reason'],
    ['with a long reason', { tenant: 'acme', reason: 'x'.repeat(501) }, 'at most 500 characters'],
    ['that has ended already', { tenant: 'acme', until: now - 1 }, 'must end after it begins'],
    ['with an end that is too late', { tenant: 'acme', until: now + 40 * 86_400_000 }, 'ends after 30 days at most'],
  ])('%s is refused with the reason, and nothing is written', async (_, what, message) => {
    const world = await startWorld()
    await expect(world.producer.withdraw({ reason: 'wrong price', ...what })).rejects.toThrow(message)
    expect((await readControl(world.bus, world.settings)).inForce).toEqual([])
    expect(await readHistory(world.bus, world.settings)).toEqual({ deeds: [], foreign: 0 })
  })

  const dayMs = 86_400_000
  /** Writes withdrawals of single messages to the control topic, as other producers would. */
  async function writeWithdrawals({ bus, settings }: World, count: number, { at = now, until = now + dayMs } = {}) {
    const stamp = { begins: true, by: 'crm', at, until, reason: 'wrong price' }
    const records = Array.from({ length: count }, (_, id) =>
      writeChange(settings.topics.control, {
        ...{ effect: 'withdrawn', kind: 'message', name: `default/${id + 1}` },
        ...stamp,
      }),
    )
    await publishAll(bus, records)
  }

  test('is refused with the next end while 10,000 are in force, one of which can still be changed', async () => {
    const world = await startWorld()
    await writeWithdrawals(world, 10_000)
    const { maxAgeMs, horizonMs } = world.settings.commands
    const over = Math.ceil((now + dayMs + horizonMs + maxAgeMs) / 1000) * 1000
    await expect(world.producer.withdraw({ campaign: 'spring', reason: 'wrong price' })).rejects.toThrow(
      `10000 withdrawals are in force, the most there can be; the first is over at ${new Date(over).toISOString()}`,
    )
    await world.producer.withdraw({ id: 7, reason: 'another price', by: 'shop' })
    const metrics = `http://127.0.0.1:${world.worker.ports.telemetry}/metrics`
    await until(async () => {
      expect(await (await fetch(metrics)).text()).toContain('busgate_withdrawals{kind="message"} 10000')
    })
    await world.send([buildCommand({ id: 9_999n }), buildCommand({ id: 10_001n })])
    await world.finished(2)
    expect([world.resultOf(9_999n).errorCode, world.resultOf(10_001n).outcome]).toEqual(['WITHDRAWN', 'SENT'])
  })

  test('deletes the records of up to 1,000 ended withdrawals', async () => {
    const world = await startWorld()
    await writeWithdrawals(world, 1_500, { at: now - 40 * dayMs, until: now - 39 * dayMs })
    const standing = async () => (await readControl(world.bus, world.settings)).over.length
    expect(await standing()).toBe(1_500)
    for (const left of [500, 0, 0]) {
      await world.producer.withdraw({ campaign: 'spring', reason: 'wrong price' })
      expect(await standing()).toBe(left)
    }
  })
})
