import { styleText } from 'node:util'
import { count } from '../../words.ts'
import type { CheckState } from '../doctor/check.ts'
import { checks, type Examined, examine } from '../doctor/examine.ts'
import { command, toggle } from '../framework/command.ts'
import { printable, untilSignal } from '../framework/terminal.ts'
import { configFlag, sourcesOf } from '../settings.ts'

const colours: Record<CheckState, 'green' | 'yellow' | 'red' | 'gray'> = {
  ok: 'green',
  warning: 'yellow',
  failed: 'red',
  skipped: 'gray',
}
const widest = Math.max(...checks.map(({ name }) => name.length))

export const doctor = command({
  about: [
    'Checks everything that busgate run needs with these settings, and says what is wrong and how to repair it:',
    `${checks.map(({ name }) => name).join(', ')}.`,
    'Sends no message and writes no record. Exits 1 if a check failed.',
  ].join('\n'),
  flags: { json: toggle('Prints one JSON object a line: check, state, what, mend.'), config: configFlag },
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
