import { describe, expect, test } from 'vitest'
import type { Answer } from '../../src/gateway/answer.ts'
import { itemsAnswer, sentItem } from '../support/answers.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { startSendingWorld } from '../support/sending-world.ts'

const minute = 60_000
const lost: Answer = { kind: 'lost', cause: 'timeout', message: 'timeout' }

describe('a command in doubt', () => {
  test('after a second request is SENT when the first one’s callback came between them', async () => {
    const { clock, doubted, calledBack, results } = await startSendingWorld({ answer: () => lost })
    const timestamp = clock.now()
    await clock.pass(10 * minute)
    calledBack(1)
    await clock.pass(10 * minute)
    doubted(1, { timestamp, attempts: 2 })
    await clock.pass(5000)
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  test('is asked for in time though the clock of whoever sent it is hours ahead', async () => {
    const { clock, doubted, results } = await startSendingWorld({
      answer: () => itemsAnswer(sentItem(1, { status: 'ROUTING' })),
    })
    doubted(1, { postedAt: clock.now() + 5 * 60 * minute })
    await clock.pass(minute)
    expect(results()).toEqual([])
    await clock.pass(2 * minute)
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  test('waits when the registry does not have its schema for a while, and so does the callback that proves it', async () => {
    const registry = laggingRegistry()
    const { clock, doubted, calledBack, results, deadLetters } = await startSendingWorld({ registry })
    registry.isLagging = true
    doubted(1)
    await clock.pass(5000)
    registry.isLagging = false
    await clock.pass(10_000)
    registry.isLagging = true
    calledBack(1)
    await clock.pass(5000)
    expect([results(), deadLetters()]).toEqual([[], 0])
    registry.isLagging = false
    await clock.pass(5000)
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })
})
