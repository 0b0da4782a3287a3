import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Pending } from '../../src/worker/pending.ts'
import { Proofs } from '../../src/worker/proofs.ts'
import { answered, itemsAnswer, refusedItem, sentItem } from '../support/answers.ts'
import { buildCommand } from '../support/commands.ts'
import { type Operation, startSendingWorld } from '../support/sending.ts'

/*
 * The gateway names ids, not records: of several records with one id, no more may end SENT than it has executed.
 */

const unknownId = 'unknown id'
const quick = {
  gateway: { timeoutMs: 100, notFoundTexts: [unknownId] },
  doubts: { waitMs: 100, polls: 2 },
}

const deliveries = ['AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const
const write = fc.record({
  kind: fc.constant('write' as const),
  delivery: fc.constantFrom(...deliveries),
  livesMs: fc.constantFrom(-1, 300, 3_600_000),
})
const pass = fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(50, 200, 1_000, 15_000) })
const takeOver = fc.constant({ kind: 'take over' as const })
const mostSteps = 14
const steps = fc.array(
  fc.oneof({ weight: 5, arbitrary: write }, { weight: 2, arbitrary: pass }, { weight: 1, arbitrary: takeOver }),
  { maxLength: mostSteps },
)
/** What the gateway does with a POST of the id. */
const fate = fc.record({
  isExecuted: fc.boolean(),
  isAnswered: fc.boolean(),
  isCalledBack: fc.boolean(),
  isSlow: fc.boolean(),
})
type Fate = typeof fate extends fc.Arbitrary<infer T> ? T : never

/** Starts a world in which everything is about the id 1. */
async function startWorldOfOne(fates: readonly Fate[], partitions: number) {
  let executions = 0
  let posts = 0
  const isPost = ([first]: Operation[]) => first!.type !== 'status'
  const world: Awaited<ReturnType<typeof startSendingWorld>> = await startSendingWorld({
    settings: quick,
    partitions,
    takes: ({ operations }) => (isPost(operations) && fates[posts % fates.length]!.isSlow ? 90 : 0),
    answer(operations) {
      if (!isPost(operations)) {
        return itemsAnswer(executions > 0 ? sentItem(1, { status: 'DELIVERED' }) : refusedItem(1, unknownId))
      }
      const { isExecuted, isAnswered, isCalledBack } = fates[posts++ % fates.length]!
      if (isExecuted) executions++
      if (isExecuted && isCalledBack) world.calledBack(1)
      if (!isAnswered) return answered('', { status: 502 })
      return itemsAnswer(isExecuted ? sentItem(1) : refusedItem(1))
    },
  })
  return { world, executions: () => executions }
}

test.each([
  ['on one partition', 1, fate, steps],
  [
    'on partitions of their own, if one process resolves all',
    mostSteps,
    fate.map(one => ({ ...one, isAnswered: false })),
    steps.map(all => all.filter(({ kind }) => kind !== 'take over')),
  ],
])(
  'of records with one id %s, no more end SENT than were executed',
  { timeout: 120_000 },
  (_, partitions, ofPost, plan) =>
    fc.assert(
      fc.asyncProperty(plan, fc.array(ofPost, { minLength: 1, maxLength: 8 }), async (all, fates) => {
        const { world, executions } = await startWorldOfOne(fates, partitions)
        for (const [index, step] of all.entries()) {
          if (step.kind === 'pass') await world.pass(step.ms)
          else if (step.kind === 'take over') await world.takeOver()
          else {
            const { delivery, livesMs } = step
            const command = buildCommand({ id: 1n, delivery, deadline: world.clock.now() + livesMs })
            world.put(world.settings.topics.commands.at(-1)!, [command], index % partitions)
          }
        }
        await world.pass(30_000, 200)
        const finals = world.results().filter(({ final }) => final)
        expect(finals).toHaveLength(all.filter(({ kind }) => kind === 'write').length)
        expect(finals.filter(({ outcome }) => outcome === 'SENT').length).toBeLessThanOrEqual(executions())
      }),
      { numRuns: Number(process.env.RUNS ?? 40) },
    ),
)

test('a message that a second POST sent proves nothing of another record with the id', async () => {
  const lost: Fate = { isExecuted: false, isAnswered: false, isCalledBack: false, isSlow: false }
  const accepted: Fate = { ...lost, isExecuted: true, isAnswered: true }
  const { world } = await startWorldOfOne([lost, accepted, lost], 2)
  for (const partition of [0, 1]) {
    const command = buildCommand({ id: 1n, delivery: partition === 0 ? 'AT_LEAST_ONCE' : 'AT_MOST_ONCE' })
    world.put('bulk', [command], partition)
    await world.pass(5_000, 50)
  }
  expect(world.results().flatMap(({ final, outcome }) => (final ? outcome : []))).toEqual(['SENT', 'UNRESOLVED'])
})

test('of more than ten thousand proved ids, those proved last are remembered', () => {
  const proofs = new Proofs()
  const claims = (id: number, offset: number) => {
    const command = { idText: String(id), account: 'default' }
    return proofs.claim({ command, topic: 'bulk', partition: 0, record: { offset } } as Pending, null)
  }
  for (let id = 1; id <= 10_000; id++) claims(id, 0)
  expect([claims(1, 1), claims(1, 0)]).toEqual([false, true])
  claims(10_001, 0)
  expect([claims(1, 1), claims(3, 1), claims(2, 1)]).toEqual([false, false, true])
})
