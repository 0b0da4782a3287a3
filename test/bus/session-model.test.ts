import fc from 'fast-check'
import { test } from 'vitest'
import type { Ending } from '../support/sessions.ts'
import { SessionModel } from './session-model.ts'

type Step = (model: SessionModel) => unknown

/** RUNS=20000 looks for rarer stories. */
const runs = Number(process.env.RUNS ?? 300)
const side = fc.nat({ max: 1 })
const which = fc.nat({ max: 20 })
const few = fc.integer({ min: 1, max: 4 })
const ending = fc.constantFrom<Ending>('ok', 'ok', 'ok', 'lost answer', 'failed')

/** A step with a text, so that a failure tells the story. */
const step = <T>(name: string, args: fc.Arbitrary<T>, act: (model: SessionModel, args: T) => unknown) =>
  args.map(values =>
    Object.assign<Step, object>(model => act(model, values), {
      [fc.toStringMethod]: () => `${name} ${JSON.stringify(values)}`,
    }),
  )

const steps = fc.oneof(
  { weight: 4, arbitrary: step('append', fc.tuple(few, fc.nat({ max: 2 })), (m, [n, gap]) => m.log.append(n, gap)) },
  { weight: 1, arbitrary: step('marker', few, (m, length) => m.log.appendGap(length)) },
  { weight: 3, arbitrary: step('open', side, (m, p) => m.open(p)) },
  { weight: 2, arbitrary: step('close', side, (m, p) => m.close(p)) },
  { weight: 6, arbitrary: step('work', fc.tuple(side, few), (m, a) => m.work(...a)) },
  { weight: 5, arbitrary: step('acquired', which, (m, i) => m.acquired(i)) },
  { weight: 6, arbitrary: step('deliver', fc.tuple(side, few, fc.boolean()), (m, a) => m.deliver(...a)) },
  { weight: 1, arbitrary: step('stray', fc.tuple(side, fc.constantFrom(-1, 1, 3)), (m, a) => m.deliverStray(...a)) },
  { weight: 6, arbitrary: step('intend', fc.tuple(side, few), (m, a) => m.intend(...a)) },
  { weight: 6, arbitrary: step('pass', fc.constantFrom(1, 25, 25, 25, 6_000), (m, ms) => m.clock.pass(ms)) },
  { weight: 8, arbitrary: step('end commit', fc.tuple(which, ending), (m, a) => m.endCommit(...a)) },
  { weight: 6, arbitrary: step('finish', fc.tuple(which, fc.boolean()), (m, a) => m.finish(...a)) },
  { weight: 2, arbitrary: step('settle', fc.tuple(side, fc.boolean()), (m, a) => m.settle(...a)) },
  { weight: 2, arbitrary: step('shelve', fc.tuple(side, few), (m, a) => m.shelve(...a)) },
  { weight: 2, arbitrary: step('recall', fc.tuple(side, few, fc.nat({ max: 2 })), (m, a) => m.recall(...a)) },
  { weight: 2, arbitrary: step('rejoin', fc.tuple(side, fc.boolean()), (m, a) => m.rejoin(...a)) },
  {
    weight: 1,
    arbitrary: step('meddle', fc.tuple(which, fc.constantFrom('settle', 'release', 'intend')), (m, a) =>
      m.meddle(...a),
    ),
  },
)

test(
  'whatever happens, nothing is sent twice, nothing is lost, and everything has exactly one result',
  async () => {
    const story = fc.array(steps, { minLength: 20, maxLength: 120, size: 'max' })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(0, 0, 5), story, side, fc.boolean(), async (lookBack, story, last, goOn) => {
        const model = new SessionModel(lookBack)
        await model.open(0)
        for (const step of story) {
          await step(model)
          model.verify()
        }
        await model.conclude(last, goOn)
      }),
      { numRuns: runs },
    )
  },
  runs * 200,
)
