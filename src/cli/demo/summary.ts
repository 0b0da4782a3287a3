import { styleText } from 'node:util'
import type { CountByName, Reckoning } from './audit.ts'
import { type RunningDemo, topicsOf } from './stage.ts'

/** The reckoning for people: a table that adds up, and what it proves. */
export function summaryText(reckoning: Reckoning): string {
  const { results, gateway, statuses, strays } = reckoning
  const checks = [
    check(
      results.missing + results.moreThanOneFinal === 0,
      `results: one final one for each command; missing ${grouped(results.missing)}, with two final ones ${grouped(results.moreThanOneFinal)}`,
    ),
    check(
      gateway.billedTwice + gateway.contradicted === 0,
      `gateway: ${grouped(gateway.billed)} messages executed; billed twice ${grouped(gateway.billedTwice)}, ` +
        `contradicting results ${grouped(gateway.contradicted)}`,
    ),
    check(
      statuses.missing + statuses.givenUp === 0,
      `statuses: ${grouped(statuses.accepted)} callbacks answered 200; not on the topic ${grouped(statuses.missing)}, ` +
        `given up ${grouped(statuses.givenUp)}${statuses.repeated > 0 ? `, twice on it because the 200 was lost ${grouped(statuses.repeated)}` : ''}`,
    ),
    ...(strays > 0 ? [check(false, `topics: ${grouped(strays)} unexpected records`)] : []),
  ]
  return [...tableOf(reckoning), '', ...refusals(results.errorCodes), ...doubts(results.afterDoubt), ...checks].join(
    '\n',
  )
}

export function grouped(number: number): string {
  return number.toLocaleString('en-US')
}

/** "SENT 940, REJECTED 60" */
export function listOf(counts: CountByName): string {
  const parts = Object.entries(counts).map(([name, number]) => `${name} ${grouped(number)}`)
  return parts.join(', ') || 'none yet'
}

function tableOf({ kinds, commands, results, statuses }: Reckoning): string[] {
  const outcomes = Object.keys(results.outcomes)
  const states = Object.keys(statuses.states)
  const rowOf = (name: string, all: number, ofOutcome: CountByName, ofState: CountByName) => [
    name,
    grouped(all),
    ...outcomes.map(outcome => grouped(ofOutcome[outcome] ?? 0)),
    '│',
    ...states.map(state => grouped(ofState[state] ?? 0)),
  ]
  const rows = [
    ['kind', 'commands', ...outcomes, '│', ...states],
    ...kinds.map(row => rowOf(row.kind, row.commands, row.outcomes, row.states)),
    rowOf('all', commands, results.outcomes, statuses.states),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  const lines = rows.map(row =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  )
  const rule = '─'.repeat(lines[0]!.length)
  return [lines[0]!, rule, ...lines.slice(1, -1), rule, lines.at(-1)!]
}

function refusals(errorCodes: CountByName): string[] {
  return Object.keys(errorCodes).length > 0 ? [`  REJECTED by the gateway: ${listOf(errorCodes)}`] : []
}

function doubts(afterDoubt: CountByName): string[] {
  const all = Object.values(afterDoubt).reduce((sum, number) => sum + number, 0)
  return all > 0 ? [`  IN_DOUBT for a while ${grouped(all)}, then ${listOf(afterDoubt)}`] : []
}

function check(good: boolean, text: string): string {
  const mark = good ? styleText('green', '✓') : styleText('red', '✗')
  return `${mark} ${text}`
}

/** Tells where everything is, for a look around. @param page the address of the page that shows it */
export function addressesOf({ demo, sandbox, logFile }: RunningDemo, page: string): string {
  const { kafka, registry, callbacks, telemetry } = demo.settings
  const embedded = 'in this process; others cannot reach it'
  const rows = [
    ['page', `${page} (open it in a browser)`],
    ['gateway', `${sandbox.url} (counts at /_stats, requests at /_log)`],
    ['receiver', callbacks.publicUrl],
    ['metrics', `http://${telemetry.host}:${telemetry.port}/metrics`],
    ['brokers', Array.isArray(kafka.brokers) ? kafka.brokers.join(',') : embedded],
    ['registry', registry.url ?? embedded],
    ['topics', topicsOf(demo.settings).join('\n            ')],
    ['log', logFile],
    ['settings', `${demo.file} (for example: busgate tail results --config ${demo.file})`],
  ]
  return rows.map(([name, address]) => `  ${name!.padEnd(10)}${address}`).join('\n')
}
