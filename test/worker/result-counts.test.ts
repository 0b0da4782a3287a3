import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noPayload, type ResultDetails } from '../../src/records/result.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { doubtCauses } from '../../src/vocabulary/lists.ts'
import { ResultCounts } from '../../src/worker/result-counts.ts'

const result = fc.record({
  type: fc.constantFrom('sms', 'viber'),
  account: fc.constantFrom('a', 'b'),
  tenant: fc.constantFrom('acme', 'other', null),
  country: fc.constantFrom('UA', 'PL', null),
  ending: fc.constantFrom<Pick<ResultDetails, 'outcome' | 'errorCode'>>(
    { outcome: 'SENT' },
    { outcome: 'REJECTED', errorCode: 'THROTTLED' },
    { outcome: 'REJECTED', errorCode: 'DUPLICATE_ID' },
    { outcome: 'INVALID', errorCode: 'COUNTRY' },
    { outcome: 'IN_DOUBT', errorCode: 'RESPONSE_LOST' },
  ),
  parts: fc.constantFrom(-1, 0, 1, 3, null),
  price: fc.constantFrom(-0.5, 0, 0.25, 2, null),
})
const causes = fc.constantFrom(...(Object.keys(doubtCauses) as (keyof typeof doubtCauses)[]))

/** Sums the numbers of all things with the same name. */
function sums<T>(things: readonly T[], nameOf: (thing: T) => string, numberOf: (thing: T) => number) {
  const all = Map.groupBy(things, nameOf)
  return Object.fromEntries(Array.from(all, ([name, own]) => [name, own.reduce((sum, one) => sum + numberOf(one), 0)]))
}
const positive = (number: number | null | undefined) => Math.max(0, number ?? 0)

test('the results and doubts of a commit are told of once, by all that they are counted by', () => {
  fc.assert(
    // the sent commands of one commit have one account
    fc.property(fc.array(result, { maxLength: 30 }), fc.array(causes, { maxLength: 10 }), (results, doubts) => {
      const told = { results: [] as Events['results.published'][], refused: [] as Events['country.refused'][] }
      const opened: Events['doubt.opened'][] = []
      const telemetry = new Telemetry()
      telemetry.on('results.published', group => void told.results.push(group))
      telemetry.on('country.refused', one => void told.refused.push(one))
      telemetry.on('doubt.opened', one => void opened.push(one))
      const counts = new ResultCounts()
      expect(counts.isEmpty).toBe(true)
      for (const { ending, parts, price, ...subject } of results) {
        const account = ending.outcome === 'SENT' ? 'a' : subject.account
        counts.add({ ...subject, account }, { ...ending, attempts: 1, payload: { ...noPayload, parts, price } })
      }
      for (const cause of doubts) counts.addDoubt(cause)
      expect(counts.isEmpty).toBe(results.length + doubts.length === 0)
      counts.announce(telemetry)

      const groupOf = ({ type, ending }: (typeof results)[number]) =>
        [type, ending.outcome === 'SENT' ? 'a' : null, ending.outcome, ending.errorCode ?? null].join()
      const nameOf = ({ type, account, outcome, errorCode }: Events['results.published']) =>
        [type, account, outcome, errorCode].join()
      const names = told.results.map(nameOf)
      expect(new Set(names).size).toBe(names.length)
      expect(sums(told.results, nameOf, ({ count }) => count)).toEqual(sums(results, groupOf, () => 1))
      const partsOf = (one: { parts: number | null }) => positive(one.parts)
      expect(sums(told.results, nameOf, partsOf)).toEqual(sums(results, groupOf, partsOf))
      expect(sums(told.results, nameOf, ({ price }) => price)).toEqual(
        sums(results, groupOf, ({ price }) => positive(price)),
      )
      const shares = told.results.flatMap(group =>
        Array.from(group.shares, ([tenant, share]) => ({ name: `${nameOf(group)} ${tenant}`, ...share })),
      )
      const shareOf = (one: (typeof results)[number]) => `${groupOf(one)} ${one.tenant}`
      expect(
        sums(
          shares,
          ({ name }) => name,
          ({ count }) => count,
        ),
      ).toEqual(sums(results, shareOf, () => 1))
      expect(sums(shares, ({ name }) => name, partsOf)).toEqual(sums(results, shareOf, partsOf))

      const refused = results.filter(({ ending }) => ending.errorCode === 'COUNTRY')
      const placeOf = ({ account, country }: { account: string; country: string | null }) => `${account} ${country}`
      expect(new Set(told.refused.map(placeOf)).size).toBe(told.refused.length)
      expect(sums(told.refused, placeOf, ({ count }) => count)).toEqual(sums(refused, placeOf, () => 1))
      expect(
        sums(
          opened,
          ({ cause }) => cause,
          ({ count }) => count,
        ),
      ).toEqual(
        sums(
          doubts,
          cause => cause,
          () => 1,
        ),
      )
    }),
  )
})
