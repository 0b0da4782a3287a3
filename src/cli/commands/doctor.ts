import { styleText } from 'node:util'
import type { SettingsSources } from '../../config/index.ts'
import { safeText } from '../../telemetry/error.ts'
import { count } from '../../words.ts'
import { accounts } from '../doctor/accounts.ts'
import { type Check, type CheckState, type Facts, type Finding, skipped, without } from '../doctor/check.ts'
import { cluster, groups, rights, start } from '../doctor/cluster.ts'
import { control } from '../doctor/control.ts'
import { gateway } from '../doctor/gateway.ts'
import { holds } from '../doctor/holds.ts'
import { receiver } from '../doctor/receiver.ts'
import { registry, schemas } from '../doctor/registry.ts'
import { safety, settings } from '../doctor/settings.ts'
import { limits, topics } from '../doctor/topics.ts'
import { command, toggle } from '../framework/command.ts'
import { printable, untilSignal, within } from '../framework/terminal.ts'
import { configFlag, sourcesOf } from '../settings.ts'

/** All checks in running order; each gets the facts of those before it. */
export const checks: readonly Check[] = [
  settings,
  safety,
  gateway,
  registry,
  cluster,
  topics,
  accounts,
  groups,
  schemas,
  rights,
  start,
  limits,
  control,
  holds,
  receiver,
]

const colours: Record<CheckState, 'green' | 'yellow' | 'red' | 'gray'> = {
  ok: 'green',
  warning: 'yellow',
  failed: 'red',
  skipped: 'gray',
}
const widest = Math.max(...checks.map(({ name }) => name.length))

export const doctor = command({
  about: [
    'Checks what busgate run needs outside its own process with these settings, and says what is wrong and how to repair it:',
    `${checks.map(({ name }) => name).join(', ')}.`,
    'Sends no message and writes no record. Exits 1 if a check failed.',
  ].join('\n'),
  flags: { json: toggle('Prints one JSON object per line: check, state, what, mend.'), config: configFlag },
  async run({ json = false, config }) {
    const seen: Examined[] = []
    const show = (one: Examined) => {
      seen.push(one)
      process.stdout.write(`${json ? printable(JSON.stringify(one)) : textOf(one)}\n`)
    }
    const ending = await Promise.race([untilSignal(), showAll(config, show)])
    if (ending !== 'done') return 130
    const failed = seen.filter(({ state }) => state === 'failed').length
    const warnings = seen.filter(({ state }) => state === 'warning').length
    process.stderr.write(`${failed === 0 ? 'Nothing failed' : `${failed} failed`}, ${count(warnings, 'warning')}.\n`)
    return failed === 0 ? 0 : 1
  },
})

async function showAll(config: string | undefined, show: (one: Examined) => void): Promise<'done'> {
  for await (const one of examine(checks, sourcesOf(config))) show(one)
  return 'done'
}

function textOf({ check, state, what, mend }: Examined): string {
  const line = `${styleText(colours[state], state.padEnd(7))}  ${check.padEnd(widest)}  ${printable(what)}`
  return mend === undefined ? line : `${line}\n${' '.repeat(7 + 2 + widest + 2)}→ ${printable(mend)}`
}

export interface Examined extends Finding {
  check: string
}

/** Time-out of a whole check. Its requests have shorter time-outs. */
const checkLimitMs = 5000

/** Runs checks one after the other, each with the facts of those before it. */
export async function* examine(
  checks: readonly Check[],
  sources: SettingsSources,
  limitMs = checkLimitMs,
): AsyncGenerator<Examined> {
  const facts: Partial<Facts> = {}
  try {
    for (const check of checks) {
      const missing = check.needs.find(name => facts[name] === undefined)
      const findings = missing ? [skipped(without[missing])] : await look(check, facts, { sources, limitMs })
      for (const finding of findings) yield { check: check.name, ...finding }
    }
  } finally {
    await facts.cluster?.close().catch(() => {})
  }
}

async function look(
  check: Check,
  facts: Partial<Facts>,
  { sources, limitMs }: { sources: SettingsSources; limitMs: number },
): Promise<Finding[]> {
  try {
    const report = await within(limitMs, 'the check', check.look(facts as Facts, sources))
    Object.assign(facts, report.facts)
    return report.findings
  } catch (error) {
    return [{ state: 'failed', what: safeText((error as Error).message) }]
  }
}
