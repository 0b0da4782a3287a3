import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Change } from '../../../src/control/change.ts'
import { ControlNames } from '../../../src/worker/later/names.ts'
import { Rows } from '../../../src/worker/later/rows.ts'
import { buildPause, buildWithdrawal } from '../../support/control.ts'

const second = 1_000
const anyName = fc.constantFrom('anna', 'ben', 'spring')
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })
const until = orNull(fc.nat(9).map(seconds => seconds * second))

const pause = fc
  .record({ kind: fc.constantFrom('topic', 'account', 'campaign', 'tenant', 'quiet_hours'), name: anyName })
  .map(scope => buildPause(scope))
const withdrawal = fc.oneof(
  fc
    .record({ kind: fc.constantFrom('campaign', 'tenant', 'correlation_id'), name: anyName, until })
    .map(scope => buildWithdrawal(scope)),
  fc
    .record({ account: anyName, id: fc.integer({ min: 1, max: 3 }), until })
    .map(({ account, id, until }) => buildWithdrawal({ kind: 'message', name: `${account}/${id}`, until })),
)
const inForce: fc.Arbitrary<Change[]> = fc.array(fc.oneof(pause, withdrawal), { maxLength: 5 })

const command = fc.record({
  ...{ id: fc.integer({ min: 1, max: 4 }), since: fc.nat(9).map(seconds => seconds * second) },
  ...{ campaign: orNull(anyName), tenant: orNull(anyName), correlationId: orNull(anyName) },
})
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

const isPaused = ({ campaign, tenant }: Command, changes: readonly Change[]) =>
  changes.some(
    ({ effect, kind, name }) =>
      effect === 'paused' && ((kind === 'campaign' && name === campaign) || (kind === 'tenant' && name === tenant)),
  )

const isWithdrawn = ({ id, since, campaign, tenant, correlationId }: Command, changes: readonly Change[]) =>
  changes.some(({ effect, kind, name, until }) => {
    if (effect !== 'withdrawn' || since > (until ?? Number.POSITIVE_INFINITY)) return false
    if (kind === 'message') return name.endsWith(`/${id}`)
    return name === { campaign, tenant, correlation_id: correlationId }[kind]
  })

const pausesOf = (changes: readonly Change[]) =>
  [
    ...new Set(
      changes.flatMap(({ effect, kind, name }) =>
        effect === 'paused' && (kind === 'campaign' || kind === 'tenant') ? `${kind}/${name}` : [],
      ),
    ),
  ].sort()

test('what waits is held by exactly the pauses and withdrawals in force that name it', () => {
  const rows = new Rows()
  fc.assert(
    fc.property(
      fc.array(inForce, { minLength: 1, maxLength: 4 }),
      fc.array(command, { maxLength: 30 }),
      (states, all) => {
        const names = new ControlNames(rows)
        const taken = all.map(({ id, ...facts }, offset) => {
          const others = { account: 'default', type: 'sms', country: null, notBefore: null, timestamp: 0, expiresAt: 0 }
          const key = { topic: 'bulk', partition: 0, offset, id: BigInt(id) }
          return rows.take(key, { ...facts, ...others, copyAt: null }, offset)
        })
        let before: readonly Change[] = []
        for (const inForce of states) {
          expect(names.update({ inForce })).toBe(String(pausesOf(inForce)) !== String(pausesOf(before)))
          expect(taken.map(names.isPaused)).toEqual(all.map(one => isPaused(one, inForce)))
          expect(taken.map(names.isWithdrawn)).toEqual(all.map(one => isWithdrawn(one, inForce)))
          if (inForce.some(({ effect }) => effect === 'withdrawn')) expect(names.hasWithdrawals).toBe(true)
          before = inForce
        }
      },
    ),
    { numRuns: 300 },
  )
})
