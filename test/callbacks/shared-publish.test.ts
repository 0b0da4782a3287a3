import { expect, test } from 'vitest'
import { sharePublish } from '../../src/callbacks/shared-publish.ts'
import { ManualClock, settled } from '../support/clock.ts'

/** A bus of letters whose publishes settle when the test says so. */
function shareBench() {
  const clock = new ManualClock()
  const flights: { letters: string; land(): void; crash(): void }[] = []
  const shared = sharePublish<string>(
    items =>
      new Promise((resolve, reject) => {
        flights.push({ letters: items.join(''), land: resolve, crash: () => reject(new Error('no')) })
      }),
    { timeoutMs: 1000, everyMs: 5 },
    clock,
  )
  const outcomes: Record<string, string> = {}
  const add = async (letters: string, bytes = 1) => {
    for (const letter of letters) {
      shared.add(letter, bytes).then(
        () => {
          outcomes[letter] = 'done'
        },
        () => {
          outcomes[letter] = 'failed'
        },
      )
    }
    await settled()
  }
  return { clock, shared, flights, outcomes, add, carried: () => flights.map(({ letters }) => letters) }
}

test('one that comes alone goes at once; those that come soon after go together, 5 ms after it', async () => {
  const { clock, flights, add, carried, outcomes } = shareBench()
  await add('a')
  expect(carried()).toEqual(['a'])
  flights[0]!.land()
  await clock.pass(2)
  await add('b')
  await clock.pass(2)
  await add('c')
  expect(carried()).toEqual(['a'])
  await clock.pass(1)
  expect(carried()).toEqual(['a', 'bc'])
  flights[1]!.land()
  await settled()
  expect(outcomes).toEqual({ a: 'done', b: 'done', c: 'done' })
  await clock.pass(1000)
  await add('d')
  expect(carried()).toEqual(['a', 'bc', 'd'])
})

test('there is never more than one in flight', async () => {
  const { clock, flights, add, carried } = shareBench()
  await add('a')
  await clock.pass(500)
  await add('bcd')
  await clock.pass(100)
  expect(carried()).toEqual(['a'])
  flights[0]!.land()
  await settled()
  expect(carried()).toEqual(['a', 'bcd'])
})

test('one that fails fails what it carried and nothing else', async () => {
  const { clock, flights, add, outcomes } = shareBench()
  await add('a')
  await add('b')
  flights[0]!.crash()
  await clock.pass(5)
  flights[1]!.land()
  await settled()
  expect(outcomes).toEqual({ a: 'failed', b: 'done' })
})

test('one that does not land in time fails all that wait and all that come, until it has landed', async () => {
  const { clock, shared, flights, add, carried, outcomes } = shareBench()
  await add('a')
  await add('b')
  await clock.pass(999)
  expect(outcomes).toEqual({})
  await clock.pass(1)
  await shared.idle()
  await add('c')
  expect(outcomes).toEqual({ a: 'failed', b: 'failed', c: 'failed' })
  await clock.pass(60_000)
  expect(carried()).toEqual(['a'])

  flights[0]!.land()
  await add('')
  await add('d')
  flights[1]!.land()
  await settled()
  expect(carried()).toEqual(['a', 'd'])
  expect(outcomes).toEqual({ a: 'failed', b: 'failed', c: 'failed', d: 'done' })
})

test('what is larger than half a megabyte together goes in several, one larger than that alone', async () => {
  const { clock, flights, add, carried } = shareBench()
  await add('a')
  await add('bcd', 200_000)
  await add('e', 600_000)
  await add('f')
  for (let landed = 0; landed < 4; landed++) {
    flights[landed]!.land()
    await clock.pass(5)
  }
  expect(carried()).toEqual(['a', 'bc', 'd', 'e', 'f'])
})
