import { describe, expect, test } from 'vitest'
import { Account } from '../../../src/accounts/account.ts'
import type { Session } from '../../../src/bus/port.ts'
import { Outbox } from '../../../src/dispatch/outcome/outbox.ts'
import type { Pending } from '../../../src/dispatch/pending.ts'
import { Delivery, type Envelope } from '../../../src/dispatch/sending/delivery.ts'
import type { Answer } from '../../../src/gateway/connection.ts'
import { Pauses } from '../../../src/pauses/pauses.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { itemsAnswer, sentItem } from '../../support/answers.ts'
import { ManualClock, settled } from '../../support/clock.ts'
import { buildPending } from '../../support/pendings.ts'

/** A session whose commits the test decides. */
class ScriptedSession {
  readonly topic = 'bulk'
  readonly partition: number
  open = true
  alive = true
  readonly intended: number[] = []
  readonly settled: number[] = []
  readonly released: number[] = []
  readonly #intent = Promise.withResolvers<boolean>()
  readonly #commit = Promise.withResolvers<void>()

  constructor(partition: number) {
    this.partition = partition
  }

  intend(offsets: readonly number[]): Promise<boolean> {
    this.intended.push(...offsets)
    return this.#intent.promise
  }

  async say(yes: boolean): Promise<void> {
    this.#intent.resolve(yes)
    await settled()
  }

  settle(offset: number): void {
    this.settled.push(offset)
  }

  release(offset: number): void {
    this.released.push(offset)
  }

  committed(): Promise<void> {
    return this.#commit.promise
  }

  async commit(): Promise<void> {
    this.#commit.resolve()
    await settled()
  }
}

/** An envelope with two commands of each of three partitions, on its way. */
async function deliver() {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const sessions = [0, 1, 2].map(partition => new ScriptedSession(partition))
  const account = new Account({ name: 'default', apiKey: () => 'key', rate: 6, clock, random: () => 0.5, telemetry })
  account.limiter!.setShare(1, 0)
  await clock.pass(2_000)
  const putBack: number[] = []
  const connected = Promise.withResolvers<void>()
  const withheld: string[] = []
  let posted = false
  const post = async (_: string, lastCheck: () => string | null): Promise<Answer> => {
    await connected.promise
    const reason = lastCheck()
    if (reason !== null) {
      withheld.push(reason)
      return { kind: 'not_sent', cause: 'withheld', message: reason }
    }
    posted = true
    return itemsAnswer(...pendings.map(({ command }) => sentItem(Number(command.id))))
  }
  const record = { topic: 'results', key: null, value: null }
  const outbox = new Outbox(() => record, { write: () => record, writeWithoutCommand: () => record }, telemetry)
  const delivery = new Delivery({
    connection: { post, close: async () => {} },
    outbox,
    pauses: new Pauses(clock),
    hasLease: () => true,
    maxAgeMs: Number.POSITIVE_INFINITY,
    errorTexts: {},
    clock,
    telemetry,
    putBack: (pendings, how) => putBack.push(...pendings.map(({ offset }) => offset * (how === 'first' ? 1 : -1))),
  })
  const ofPartition = (session: ScriptedSession): Pending[] =>
    [1, 2].map(i => buildPending({ offset: session.partition * 10 + i, session: session as unknown as Session }))
  const pendings = sessions.flatMap(ofPartition)
  const parts = new Map<Session, number[]>(
    sessions.map(session => {
      const offsets = pendings.flatMap(({ session: own, offset }) => (own === (session as unknown) ? offset : []))
      return [session as unknown as Session, offsets]
    }),
  )
  const envelope: Envelope = { account, pendings, parts, permit: account.permit(pendings.length), unsent: 'first' }
  let over = false
  const pass = async () => {
    if (await delivery.intend(envelope)) await delivery.committed(envelope, await delivery.send(envelope))
    else await delivery.takeBack(envelope)
    over = true
  }
  void pass()
  return {
    sessions: sessions as [ScriptedSession, ScriptedSession, ScriptedSession],
    account,
    putBack,
    withheld,
    async connect() {
      connected.resolve()
      await settled()
    },
    isPosted: () => posted,
    isOver: () => over,
  }
}

describe('an envelope over partitions', () => {
  test('is intended on all of them in one step, so that one commit can hold it', async () => {
    const { sessions } = await deliver()
    expect(sessions.map(({ intended }) => intended)).toEqual([
      [1, 2],
      [11, 12],
      [21, 22],
    ])
  })

  test('is POSTed only when all have committed their intents, and over when all have committed their results', async () => {
    const { sessions, connect, isPosted, isOver } = await deliver()
    await connect()
    for (const session of sessions) {
      expect(isPosted()).toBe(false)
      await session.say(true)
    }
    expect(isPosted()).toBe(true)
    expect(sessions.map(one => one.settled)).toEqual([
      [1, 2],
      [11, 12],
      [21, 22],
    ])
    for (const session of sessions) {
      expect(isOver()).toBe(false)
      await session.commit()
    }
    expect(isOver()).toBe(true)
  })

  test('is not POSTed when one says no: all take their intents back, and all of it is the next to go', async () => {
    const { sessions, account, connect, isPosted, isOver, putBack } = await deliver()
    await connect()
    for (const session of sessions) {
      expect(putBack).toEqual([])
      await session.say(session.partition !== 1)
    }
    expect(sessions.flatMap(({ released }) => released)).toEqual([1, 2, 11, 12, 21, 22])
    expect(putBack).toEqual([1, 2, 11, 12, 21, 22])
    expect([isPosted(), account.mayGo]).toEqual([false, true])
    for (const session of sessions) {
      expect(isOver()).toBe(false)
      await session.commit()
    }
    expect(isOver()).toBe(true)
  })

  test.each([0, 1, 2])('is not POSTed when partition %i is lost before its first byte', async lost => {
    const { sessions, connect, isPosted, withheld, putBack } = await deliver()
    for (const session of sessions) await session.say(true)
    sessions[lost]!.alive = false
    await connect()
    expect([isPosted(), withheld]).toEqual([false, ['a partition was lost']])
    expect(putBack).toEqual([1, 2, 11, 12, 21, 22])
    expect(sessions.flatMap(({ released }) => released)).toEqual([1, 2, 11, 12, 21, 22])
  })
})
