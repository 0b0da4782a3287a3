import { expect, test } from 'vitest'
import { Opener } from '../../../src/worker/intake/opener.ts'
import { ManualClock } from '../../support/clock.ts'

const second = 1_000

function startOpener() {
  const clock = new ManualClock()
  const readOpened = () => {
    throw new Error('nothing is opened here')
  }
  const opener = new Opener({ keys: () => [], readOpened, clock })
  const awaited = (...kids: string[]) => kids.filter(kid => opener.isAwaited(kid))
  return { clock, awaited }
}

test('records wait ten seconds for a key, and then a minute long no others do', async () => {
  const { clock, awaited } = startOpener()
  expect(awaited('new')).toEqual(['new'])
  await clock.pass(10 * second - 1)
  expect(awaited('new')).toEqual(['new'])
  await clock.pass(1)
  expect(awaited('new')).toEqual([])
  await clock.pass(60 * second - 1)
  expect(awaited('new')).toEqual([])
  await clock.pass(1)
  expect(awaited('new')).toEqual(['new'])
})

test('records wait for no more than four keys, since foreign records can name any number', async () => {
  const { clock, awaited } = startOpener()
  expect(awaited('a', 'b', 'c', 'd', 'e', 'a')).toEqual(['a', 'b', 'c', 'd', 'a'])
  await clock.pass(70 * second)
  expect(awaited('e', 'f', 'g', 'h', 'a')).toEqual(['e', 'f', 'g', 'h'])
})
