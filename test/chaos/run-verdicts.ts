import { setTimeout as pause } from 'node:timers/promises'
import { Audit, violations } from './audit.ts'
import { Fleet } from './fleet.ts'
import { startFront } from './front.ts'
import { Load } from './load.ts'
import { buildMessage } from './messages.ts'
import { type Outcome, type RunOptions, type Stage, setStage } from './stage.ts'
import { StatusAudit } from './status-audit.ts'
import { Traffic } from './traffic.ts'
import { judgeVerdicts } from './verdicts.ts'

export interface VerdictOptions extends RunOptions {
  /** Reconcilers and a worker are killed meanwhile. */
  kill: boolean
}

const workers = 2
const reconcilers = 2
const delayMs = 2000
/** Most of the late callbacks come when their messages were asked for already. */
const callbackTrouble = { drop: 0.05, late: 0.1, lateMs: 2500, repeat: 0.05 }
const callbackDelayMs = { min: 50, max: 2500 }
const reconcilerSettings = {
  BUSGATE_ROLES: 'reconciler',
  BUSGATE_RECONCILER_DELAY_MS: String(delayMs),
  BUSGATE_RECONCILER_EXPECT_MS: '3500',
  BUSGATE_RECONCILER_EXPECT_VIBER: '1000', // some are asked for before their time
  BUSGATE_RECONCILER_GRACE_MS: '60000',
  BUSGATE_RECONCILER_RATE: '500',
}
const patienceMs = 120_000

/** The gateway drops callbacks, delays and repeats them: every message has its verdict all the same, and a true one. */
export async function runVerdicts(options: VerdictOptions): Promise<Outcome> {
  const { commands, say, kill } = options
  const traffic = new Traffic(commands)
  const callbacks = await startFront({
    targets: () => [...fleet.members].flatMap(member => member.receiver() ?? []),
    passed: (body, status) => traffic.calledBack(body, status),
  })
  const stage = await setStage(options, {
    sandbox: { latencyMs: { min: 5, max: 40 }, callbackDelayMs, callbackTrouble, callbackConcurrency: 128 },
    env: {
      BUSGATE_ROLES: 'worker,callbacks',
      BUSGATE_CALLBACKS_PUBLIC_URL: callbacks.url,
      BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-tests',
      BUSGATE_CALLBACKS_HOST: '127.0.0.1',
      BUSGATE_CALLBACKS_PORT: '0',
    },
  })
  const polls = await startFront({ targets: () => [stage.sandbox.url], passed: body => traffic.asked(body) })
  const fleet = new Fleet({ ...stage, name: 'worker', say })
  const ofReconcilers = { ...stage.env, ...reconcilerSettings, BUSGATE_GATEWAY_URL: polls.url }
  const reconciling = new Fleet({ ...stage, name: 'reconciler', env: ofReconcilers, say })
  await Promise.all([fleet.fill(workers), reconciling.fill(reconcilers)])
  say(`${workers} workers and ${reconcilers} reconcilers, logs in ${stage.folder}`)

  const load = new Load(options, buildMessage)
  const killings = kill ? killThem(fleet, reconciling, load, options) : Promise.resolve()
  await load.produce(stage)
  await killings
  const audit = await Audit.of(stage, options)
  const statuses = await StatusAudit.of(stage, commands)
  await untilToldOf(audit, statuses, stage, say)
  const verdict = audit.verdict(stage.sandbox)
  await Promise.all([fleet.close(), reconciling.close()])
  await statuses.toTheEnd()
  await Promise.all([stage.close(), callbacks.close(), polls.close()])

  const { figures, promises } = judgeVerdicts({ commands, audit, statuses, traffic, latestMs: callbackDelayMs.max })
  const lastVerdictSeconds = (statuses.lastVerdictAt - load.producedAt.at(-1)!) / 1000
  return {
    figures: [{ ...figures, lastVerdictSeconds }, promises, verdict.outcomes],
    broken: [...violations(verdict), ...Object.entries(promises).flatMap(([name, times]) => (times > 0 ? [name] : []))],
    verdict,
    faults: 0,
  }
}

/** A reconciler, then a worker in the middle of the load, and another reconciler when only verdicts are missing. */
async function killThem(workers: Fleet, reconcilers: Fleet, load: Load, { say }: RunOptions): Promise<void> {
  const killings: [share: number, fleet: Fleet][] = [
    [0.3, reconcilers],
    [0.6, workers],
    [1, reconcilers],
  ]
  for (const [share, fleet] of killings) {
    await load.reached(share)
    const [member] = fleet.members
    say(`kill -9 ${member!.name}`)
    await member!.kill()
    await pause(1000)
    fleet.start()
  }
}

/** Until every message that was sent has a verdict, no callback is due, and time for more than that has passed. */
async function untilToldOf(audit: Audit, statuses: StatusAudit, { sandbox }: Stage, say: RunOptions['say']) {
  const patience = performance.now() + patienceMs
  const missing = () =>
    statuses.told.filter(({ verdictFrom }, index) => verdictFrom === null && audit.outcomeOf(index) === 'SENT').length
  while ((missing() > 0 || sandbox.stats().callbacks.pending > 0) && performance.now() < patience) {
    say(`${missing()} messages have no verdict yet`)
    await pause(2000)
  }
  await pause(3 * delayMs)
}
