import { describe, expect, test } from 'vitest'
import { GroupPlace } from '../../src/bus/membership/group-place.ts'
import type { Membership, SessionState } from '../../src/bus/port.ts'
import { settled } from '../support/clock.ts'

/** The place of a role whose proof and join end when the test says so. */
function setUp() {
  const proof = { ...Promise.withResolvers<void>(), reasons: [] as string[] }
  const joining = Promise.withResolvers<void>()
  const leaving = { ...Promise.withResolvers<void>(), calls: [] as (number | undefined)[] }
  const state = { trouble: null as string | null, unread: [] as string[], sessions: [] as SessionState[] }
  const membership = {
    trouble: () => state.trouble,
    unread: () => state.unread,
    sessions: () => state.sessions,
    leave: (finishMs?: number) => {
      leaving.calls.push(finishMs)
      return leaving.promise
    },
  } as unknown as Membership
  let joins = 0
  const place = new GroupPlace({ proved: proof.promise, reasons: () => proof.reasons }, async () => {
    joins++
    await joining.promise
    return membership
  })
  return { place, proof, joining, leaving, state, membership, joins: () => joins }
}

/** Whether a promise is over by now. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false
  promise.then(
    () => (over = true),
    () => (over = true),
  )
  await settled()
  return over
}

describe('a role', () => {
  test('joins its group only once it is proved that it can work', async () => {
    const { place, proof, joining, membership, joins } = setUp()
    const taken = place.take()
    await settled()
    expect(joins()).toBe(0)
    proof.resolve()
    joining.resolve()
    expect(await taken).toBe(membership)
    expect(place.membership).toBe(membership)
  })

  test('never joins if that is never proved, or if it was stopped before', async () => {
    const hopeless = setUp()
    hopeless.proof.reject(new Error('the gateway refuses the key'))
    await expect(hopeless.place.take()).rejects.toMatchObject({ message: 'the gateway refuses the key' })
    const stopped = setUp()
    const taken = stopped.place.take()
    await stopped.place.leave()
    stopped.proof.resolve()
    await expect(taken).rejects.toMatchObject({ message: 'stopped before it joined the group' })
    expect([hopeless.joins(), stopped.joins()]).toEqual([0, 0])
  })

  test('that is stopped while it joins leaves the group again', async () => {
    const { place, proof, joining, leaving } = setUp()
    const taken = place.take()
    proof.resolve()
    await settled()
    await place.leave()
    joining.resolve()
    expect(await isOver(taken)).toBe(false)
    leaving.resolve()
    await expect(taken).rejects.toMatchObject({ message: 'stopped while it joined the group' })
    expect([leaving.calls, place.membership]).toEqual([[undefined], null])
  })

  test('leaves within the time that it is given', async () => {
    const { place, proof, joining, leaving } = setUp()
    proof.resolve()
    joining.resolve()
    await place.take()
    const left = place.leave(5_000)
    expect(await isOver(left)).toBe(false)
    leaving.resolve()
    await left
    expect(leaving.calls).toEqual([5_000])
  })

  test('says why it does not work: what is not proved, and then all that keeps it from its partitions', async () => {
    const { place, proof, joining, state } = setUp()
    expect(place.reasons()).toEqual(['joins its group'])
    proof.reasons = ['the key is refused']
    expect(place.reasons()).toEqual(['the key is refused'])
    proof.resolve()
    joining.resolve()
    await place.take()
    expect(place.reasons()).toEqual(['the key is refused'])
    const session = { topic: 'commands', partition: 0, windowUsed: 0, lag: 0, committing: false }
    Object.assign(state, {
      trouble: 'no coordinator',
      unread: ['otp is not read'],
      sessions: [{ ...session, open: false }],
    })
    expect(place.reasons()).toEqual([
      'the key is refused',
      'no coordinator',
      'otp is not read',
      expect.stringContaining('commands/0'),
    ])
    proof.reasons = []
    Object.assign(state, { trouble: null, unread: [], sessions: [{ ...session, open: true }] })
    expect(place.reasons()).toEqual([])
  })
})
