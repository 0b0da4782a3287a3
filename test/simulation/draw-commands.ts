import { sendTypes } from '../../src/protocol/index.ts'
import type { CommandPlan, Plan } from './plan.ts'
import type { Random } from './random.ts'

interface CommandsOptions {
  count?: number
  accounts?: readonly CommandPlan['account'][]
}

export function drawCommands(random: Random, until: number, options: CommandsOptions = {}): CommandPlan[] {
  const repeats = random.pick([0, 0, 0.1, 0.4])
  const odd = random.chance(0.5) ? 0.1 : 0
  const refusals = random.pick([0, 0, 0.1, 0.3])
  const deadlines = random.pick([0, 0.2, 0.6])
  const types = random.chance(0.5) ? sendTypes : [random.pick(sendTypes), random.pick(sendTypes)]
  const deliveries = random.chance(0.5)
    ? (['DEFAULT', 'AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const)
    : [random.pick(['AT_MOST_ONCE', 'AT_LEAST_ONCE'] as const)]
  const some = random.chance(0.3) ? (['default', 'other'] as const) : (['default'] as const)
  const bursts = Array.from({ length: random.int(1, 10) }, () => random.int(0, until))
  const commands: CommandPlan[] = []
  const { accounts = some, count = random.int(3, random.pick([10, 30, 60])) } = options
  for (let i = 0; i < count; i++) {
    const kind = random.chance(odd)
      ? random.pick(['invalid', 'unknown account', 'garbage', 'unknown schema'] as const)
      : 'valid'
    const original = kind === 'valid' && random.chance(repeats) && commands.length > 0 ? random.pick(commands) : null
    commands.push({
      kind,
      id: original?.id ?? i + 1,
      type: random.pick(types),
      delivery: random.pick(deliveries),
      account: original?.account ?? random.pick(accounts),
      urgent: original?.urgent ?? random.chance(0.3),
      at: random.pick(bursts),
      deadline: random.chance(deadlines) ? random.int(-5, 3000) : null,
      reaction: random.chance(refusals) ? random.pick(['refuses', 'throttles', 'poison'] as const) : 'accepts',
      tenant: null,
      campaign: null,
      notBefore: null,
      kid: null,
    })
  }
  return commands.sort((a, b) => a.at - b.at)
}

/** When passing commands are written, in milliseconds after the faults: the last ones after every pause. */
const passingAfterMs = [...Array.from({ length: 10 }, (_, i) => 1000 * (i + 1)), 15_000, 25_000, 40_000, 60_000, 80_000]

/**
 * Adds commands that pass, and limits the maximum age. A poison command can be told from an outage only while others of
 * its account pass in the same process; otherwise it ends when it is too old.
 */
export function withPassingCommands(plan: Plan): Plan {
  const poisoned = plan.commands.filter(({ reaction }) => reaction === 'poison')
  if (poisoned.length === 0) return plan
  const accounts = [...new Set(poisoned.map(({ account }) => account))]
  const slots = passingAfterMs.flatMap((after, i) =>
    accounts.map(account => ({ at: plan.faults.until + after, account, urgent: i % 2 === 0 })),
  )
  const passing = slots.map((slot, i): CommandPlan => {
    const id = plan.commands.length + i + 1
    return {
      kind: 'valid',
      id,
      type: 'sms',
      delivery: 'DEFAULT',
      deadline: null,
      reaction: 'accepts',
      tenant: null,
      campaign: null,
      notBefore: null,
      kid: null,
      ...slot,
    }
  })
  return { ...plan, commands: [...plan.commands, ...passing], maxAgeMs: Math.min(plan.maxAgeMs, 120_000) }
}
