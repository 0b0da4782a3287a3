import { test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { grammars } from './grammars.ts'

/** `records` needs an independent reader of Avro: `npm run fuzz`. */
const { records: _, ...others } = grammars

test.each(Object.entries(others))('%s: no foreign data breaks an invariant', async (_, { start }) => {
  const running = await start()
  try {
    for (let seed = 1; seed <= 3; seed++) await running.run(new Random(seed))
  } finally {
    await running.stop?.()
  }
})
