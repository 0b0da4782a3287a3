import { sendTypes } from '../../src/protocol/index.ts'
import type { CommandPlan, Plan } from './plan.ts'
import type { Random } from './random.ts'

interface Crowd {
  count?: number
  accounts?: readonly CommandPlan['account'][]
}

export function commandsOf(random: Random, until: number, crowd: Crowd = {}): CommandPlan[] {
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
  const { accounts = some, count = random.int(3, random.pick([10, 30, 60])) } = crowd
  for (let i = 0; i < count; i++) {
    const kind = random.chance(odd)
      ? random.pick(['invalid', 'stranger', 'garbage', 'foreign schema'] as const)
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
      reaction: random.chance(refusals) ? random.pick(['refuses', 'throttles', 'poison'] as const) : 'takes',
      tenant: null,
    })
  }
  return commands.sort((a, b) => a.at - b.at)
}

/** Milliseconds after the faults: often at first, and later until every pause is over. */
const companyAfter = [...Array.from({ length: 10 }, (_, i) => 1000 * (i + 1)), 15_000, 25_000, 40_000, 60_000, 80_000]

/**
 * What the gateway refuses whole envelopes for is told from an outage only as others of its account pass in the same
 * process; where none do, the greatest age ends it.
 */
export function withCompany(plan: Plan): Plan {
  const poisoned = plan.commands.filter(({ reaction }) => reaction === 'poison')
  if (poisoned.length === 0) return plan
  const accounts = [...new Set(poisoned.map(({ account }) => account))]
  const places = companyAfter.flatMap((after, i) =>
    accounts.map(account => ({ at: plan.faults.until + after, account, urgent: i % 2 === 0 })),
  )
  const company = places.map((place, i): CommandPlan => {
    const id = plan.commands.length + i + 1
    return {
      kind: 'valid',
      id,
      type: 'sms',
      delivery: 'DEFAULT',
      deadline: null,
      reaction: 'takes',
      tenant: null,
      ...place,
    }
  })
  return { ...plan, commands: [...plan.commands, ...company], maxAgeMs: Math.min(plan.maxAgeMs, 120_000) }
}
