import { Audit } from './audit.ts'
import { Fleet } from './fleet.ts'
import { longestGap, watchExecutions } from './gaps.ts'
import { Load } from './load.ts'
import { reportOf, seconds } from './report.ts'
import { type Outcome, type RunOptions, setStage } from './stage.ts'

/** Starts and stops processes while commands come; resolves when it is done. */
type Move = (fleet: Fleet, run: RunOptions, until: (share: number) => Promise<void>) => Promise<void>

interface Moves {
  before(run: RunOptions): number
  move: Move
}

/** An orchestrator's rolling update does the same: it waits for a new process to be ready, then tells an old one to leave. */
const restartInTurn: Move = async (fleet, { workers, say }, until) => {
  await until(0.2)
  for (const old of [...fleet.members]) {
    await fleet.fill(workers + 1)
    say(`another worker is ready, ${old.name} is told to leave`)
    await old.leave()
    say(`${old.name} has left`)
  }
}

const scale: Move = async (fleet, { workers, say }, until) => {
  await until(0.2)
  say(`${workers - 1} more workers`)
  await fleet.fill(workers)
  say(`${workers} workers are ready`)
  await until(0.6)
  say('all but one are told to leave')
  await Promise.all([...fleet.members].slice(0, workers - 1).map(member => member.leave()))
  say('one worker is left')
}

export const moves = {
  'restart-workers': { before: ({ workers }) => workers, move: restartInTurn },
  scale: { before: () => 1, move: scale },
} satisfies Record<string, Moves>

/** Workers under load that come and go in order: nothing may be lost, doubled or even in doubt. */
export async function runMoves(options: RunOptions, { before, move }: Moves): Promise<Outcome> {
  const { say } = options
  const stage = await setStage(options, { sandbox: { latencyMs: { min: 5, max: 40 } } })
  const fleet = new Fleet({ ...stage, name: 'worker', say })
  await fleet.fill(before(options))
  say(`${fleet.members.size} worker(s), logs in ${stage.folder}`)

  const load = new Load(options)
  const executions = watchExecutions(stage.sandbox)
  let moved = false
  const moving = move(fleet, options, share => load.reached(share)).then(() => {
    moved = true
  })
  await load.produce(stage)
  const loadEndedTooEarly = !moved
  const executedAt = executions.stop()
  await moving
  const audit = await Audit.of(stage, options)

  const { verdict, broken, ...outcome } = await reportOf(options, {
    stage,
    audit,
    fleet,
    faults: 0,
    executedAt,
    figures: waits(load, audit),
  })
  await fleet.close()
  await stage.close()
  const { from } = longestGap(executedAt)
  say(`the longest gap began ${((from - load.producedAt[0]!) / 1000).toFixed(1)} s after the first command`)
  return {
    ...outcome,
    verdict,
    broken: [
      ...(loadEndedTooEarly ? ['loadEndedTooEarly (give more --commands)'] : []),
      ...broken,
      ...(['executedTwiceUnderAtLeastOnce', 'everInDoubt'] as const).filter(name => verdict[name] > 0),
    ],
  }
}

/** Tells how long commands took from the producer to the first byte of the request. */
function waits({ producedAt }: Load, { sentAt }: Audit): Record<string, number> {
  const each = sentAt.map((at, index) => at - producedAt[index]!).toSorted()
  const rank = (share: number) => seconds(each[Math.ceil(share * each.length) - 1]!)
  return { waitP50Seconds: rank(0.5), waitP99Seconds: rank(0.99), waitMaxSeconds: rank(1) }
}
