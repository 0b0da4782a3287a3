import { openBus } from '../../bus/open.ts'
import { mostInForce } from '../../control/last-changes.ts'
import { readControl } from '../../control/read.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'

/** Below the time-out of a check. */
const readMs = 4_000
/** Used share of the room from which on it warns. */
const muchUsed = 0.5

export const control = check({
  name: 'control',
  about: `At most half of the pauses and withdrawals are in force that workers keep (${mostInForce}, or 64 MiB): beyond them workers send nothing.`,
  needs: ['settings', 'cluster', 'topics'],
  async look({ settings, topics }) {
    const { control: topic } = settings.topics
    if (!settings.roles.includes('worker')) return { findings: [skipped('this process sends no commands')] }
    if (topics.get(topic)?.state !== 'exists') return { findings: [skipped(`${topic} cannot be seen`)] }
    await using bus = await openBus(settings)
    const ending = AbortSignal.timeout(readMs)
    try {
      return { findings: [findingOf(topic, await readControl(bus, settings, ending))] }
    } catch (error) {
      if (!ending.aborted) throw error
      const what = `${topic} cannot be read within ${readMs / 1000} s: it holds too much, or the brokers are slow`
      return { findings: [warning(what, remedy)] }
    }
  },
})

const remedy = 'end what busgate status shows (busgate withdraw --end, busgate resume), and find out who writes so much'

function findingOf(topic: string, { inForce, used, overfull }: Awaited<ReturnType<typeof readControl>>): Finding {
  if (overfull !== null) return failed(`${topic}: ${overfull}`, remedy)
  const what = `${topic}: ${inForce.length} pauses and withdrawals in force`
  return used < muchUsed ? ok(what) : warning(`${what}, ${Math.round(used * 100)} % of what workers keep`, remedy)
}
