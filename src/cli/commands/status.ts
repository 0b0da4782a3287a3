import { type Change, changeText, nameOf } from '../../control/change.ts'
import { stringifyJson } from '../../protocol/index.ts'
import { backlogOf, backlogText } from '../control/backlog.ts'
import { onControl } from '../control/on-control.ts'
import { countResults, resultsText } from '../control/results.ts'
import { command, toggle } from '../framework/command.ts'
import { printable, printLine } from '../framework/terminal.ts'
import { configFlag } from '../settings.ts'

export const status = command({
  about: [
    'Shows what is paused and withdrawn, by whom and why, and how many commands of each topic are unfinished.',
    'With --history it shows earlier changes too, as far back as the control topic goes.',
  ].join('\n'),
  flags: {
    history: toggle('Shows each change, the newest last.'),
    results: toggle(
      'Counts the results of withdrawn messages by outcome: how many were sent before, and how many were not.',
    ),
    json: toggle('Prints one JSON object a line.'),
    config: configFlag,
  },
  run: ({ history = false, results = false, json = false, config }) =>
    onControl(config, async ({ settings, bus, changes, inForce }) => {
      const shown = history ? changes : inForce
      for (const change of shown) await printLine(printable(json ? jsonOf(change) : lineOf(change)))
      if (!json && !history && !inForce.some(({ effect }) => effect === 'paused')) await printLine('Nothing is paused.')
      for (const counted of results ? await countResults(bus, settings, inForce) : []) {
        await printLine(printable(json ? stringifyJson(counted) : resultsText(counted)))
      }
      for (const backlog of await backlogOf(bus, settings)) {
        await printLine(json ? stringifyJson(backlog) : backlogText(backlog))
      }
      return 0
    }),
})

function lineOf(change: Change): string {
  if (change.begins) return changeText(change)
  const { effect, by, at } = change
  const ended = effect === 'paused' ? 'was resumed' : 'is withdrawn no more,'
  return `${nameOf(change)} ${ended} by ${by} at ${instant(at)}`
}

function jsonOf({ effect, begins, kind, name, at, until, ...rest }: Change): string {
  const times = { at: instant(at), until: until === null ? null : instant(until) }
  return stringifyJson({ kind, name, [effect]: begins, ...rest, ...times })
}

const instant = (ms: number) => new Date(ms).toISOString()
