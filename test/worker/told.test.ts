import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SendCommand, SendResult } from '../../src/records/generated.ts'
import type { Events } from '../../src/telemetry/events.ts'
import { type AnyItem, itemsAnswer, refusedItem, sentItem } from '../support/answers.ts'
import { buildCommand } from '../support/commands.ts'
import { buildWithdrawal } from '../support/control.ts'
import { type Operation, startSendingWorld } from '../support/sending.ts'

const minute = 60_000

const fates = [
  ...(['accepted', 'refused', 'throttled', 'lost', 'known', 'garbage'] as const),
  ...(['wrong phone', 'repeated', 'too late', 'early', 'withdrawn', 'unknown account'] as const),
]
type Fate = (typeof fates)[number]

interface Planned {
  fate: Fate
  tenant: string | null
  account: 'default' | 'other'
  parts: number
}

const plan: fc.Arbitrary<Planned[]> = fc.array(
  fc.record({
    fate: fc.constantFrom(...fates),
    tenant: fc.constantFrom(null, 'anna', 'ben'),
    account: fc.constantFrom('default', 'other'),
    parts: fc.nat(3),
  }),
  { minLength: 1, maxLength: 60 },
)

/** Counts by name, without those that are 0. */
class Tally {
  readonly counts: Record<string, number> = {}

  add(name: string, count = 1): void {
    if (count !== 0) this.counts[name] = (this.counts[name] ?? 0) + count
  }
}

const nameOf = ({
  type,
  outcome,
  errorCode,
  ...of
}: Pick<SendResult, 'type' | 'errorCode'> & { outcome: string; account: string | null }) =>
  [type, outcome === 'SENT' ? of.account : null, outcome, errorCode].join(' ')

/** The gateway's item for an operation. What is lost, or known to it, depends on the command's fate. */
function itemFor({ type, id }: Operation, { fate, parts }: Planned, times: number): AnyItem | null {
  if (type === 'status') return fate === 'known' ? sentItem(id, { status: 'DELIVERED' }) : refusedItem(id, 'not found')
  if (fate === 'lost' || fate === 'known') return null
  if (fate === 'refused') return refusedItem(id)
  return fate === 'throttled' && times === 1 ? refusedItem(id, 'THROTTLE') : sentItem(id, { parts, price: 0.5 })
}

test('what is told of commands, results, doubts and dead letters is what is on the topics', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async planned => {
      const times = new Map<number, number>()
      const world = await startSendingWorld({
        settings: { gateway: { maxOperations: 5, timeoutMs: 10_000 }, doubts: { policy: 'AT_MOST_ONCE', polls: 1 } },
        answer(operations) {
          if (operations[0]!.type === 'balance') return null
          const items = operations.map(operation => {
            times.set(operation.id, (times.get(operation.id) ?? 0) + 1)
            return itemFor(operation, planned[operation.id - 1]!, times.get(operation.id)!)
          })
          return items.includes(null) ? { kind: 'lost', cause: 'timeout', message: 'timeout' } : itemsAnswer(...items)
        },
      })
      const told = new Tally()
      const listen = <K extends keyof Events>(event: K, note: (told: Events[K]) => void) =>
        world.telemetry.on(event, note as never)
      listen('commands.consumed', ({ topic, count }) => told.add(`${topic} consumed`, count))
      listen('doubt.opened', ({ cause, count }) => told.add(`doubts ${cause}`, count))
      listen('doubt.resolved', ({ outcome }) => told.add(`doubts ended ${outcome}`))
      listen('deadLetter.published', ({ code, count }) => told.add(`letters ${code}`, count))
      listen('envelope.finished', ({ account, operations }) => told.add(`posted ${account}`, operations))
      listen('results.published', ({ count, parts, price, shares, ...group }) => {
        told.add(nameOf(group), count)
        told.add(`parts ${nameOf(group)}`, parts)
        told.add(`price ${nameOf(group)}`, price)
        for (const [tenant, share] of shares) {
          told.add(`tenant ${tenant}`, share.count)
          told.add(`parts of tenant ${tenant}`, share.parts)
        }
      })

      world.control(buildWithdrawal({ kind: 'campaign', name: 'spring' }))
      await world.pass(1_000)
      const changesOf = (fate: Fate): Partial<SendCommand> => {
        if (fate === 'wrong phone') return { phone: 1 }
        if (fate === 'too late') return { deadline: world.clock.now() - 1 }
        if (fate === 'early') return { notBefore: world.clock.now() + 2 * minute }
        if (fate === 'withdrawn') return { campaign: 'spring' }
        return fate === 'unknown account' ? { account: 'Nobody!' } : {}
      }
      for (const [i, { fate, tenant, account }] of planned.entries()) {
        const command = buildCommand({ id: BigInt(i + 1), tenant, account, ...changesOf(fate) })
        world.put('bulk', fate === 'repeated' ? [command, command] : [command])
        if (fate === 'garbage') world.append({ key: null, value: Buffer.from('no command') })
      }
      await world.pass(5 * minute, 500)

      const isOf = new Tally()
      const recordsOf = (topic: string) => world.broker.read({ topic, partition: 0 }, 0, 1_000_000).records.length
      const results = world.results()
      isOf.add('bulk consumed', recordsOf('bulk'))
      const doubted = results.filter(({ outcome }) => outcome === 'IN_DOUBT')
      isOf.add('doubts timeout', recordsOf('doubts') / 2)
      expect(doubted).toHaveLength(recordsOf('doubts') / 2) // each is marked as finished
      for (const { headers } of world.letters()) isOf.add(`letters ${headers['busgate.error.code']}`)
      for (const { operations, auth } of world.posts)
        if (operations[0]!.type === 'sms') isOf.add(`posted ${auth}`, operations.length)
      for (const result of results) {
        isOf.add(nameOf(result))
        isOf.add(`parts ${nameOf(result)}`, result.parts ?? 0)
        isOf.add(`price ${nameOf(result)}`, result.price ?? 0)
        isOf.add(`tenant ${result.tenant}`)
        isOf.add(`parts of tenant ${result.tenant}`, result.parts ?? 0)
        const isOfDoubt = result.final && result.outcome !== 'DUPLICATE' && doubted.some(({ id }) => id === result.id)
        if (isOfDoubt) isOf.add(`doubts ended ${result.outcome}`)
      }
      expect(told.counts).toEqual(isOf.counts)
      expect(['doubts_open', 'intents_open', 'requests_in_flight'].map(name => world.gauge(name))).toEqual([0, 0, 0])
      const finals = results.filter(({ final }) => final).map(({ id }) => Number(id))
      const expected = planned.flatMap(({ fate }, i) => (fate === 'repeated' ? [i + 1, i + 1] : [i + 1]))
      expect(finals.toSorted((a, b) => a - b)).toEqual(expected)
      await world.stop()
    }),
    { numRuns: 8 },
  )
})
