import type { Panel, Step } from './frames.ts'

const named: Record<string, string> = {
  green: '#56a64b',
  yellow: '#e0b400',
  orange: '#ff780a',
  'light-orange': '#ffb357',
  red: '#d4343f',
  blue: '#3274d9',
  purple: '#a352cc',
  transparent: 'transparent',
}

const palette = [
  '#73bf69',
  '#f2cc0c',
  '#8ab8ff',
  '#ff780a',
  '#f2495c',
  '#5794f2',
  '#b877d9',
  '#705da0',
  '#37872d',
  '#fade2a',
  '#447ebc',
  '#c15c17',
]

/** The colour that the panel gives the series, else the next one. */
export function colorOf(panel: Panel, name: string, index: number): string {
  const fixed = override<{ fixedColor: string }>(panel, name, 'color')?.fixedColor
  return fixed ? (named[fixed] ?? fixed) : palette[index % palette.length]!
}

/** The colour of a value by the steps that hold for the series. */
export function stepColor(panel: Panel, name: string, value: number): string {
  const own = override<{ steps: Step[] }>(panel, name, 'thresholds')?.steps
  const steps = own ?? panel.fieldConfig?.defaults.thresholds?.steps ?? []
  const reached = steps.filter(step => step.value === null || value >= step.value)
  return named[reached.at(-1)?.color ?? 'green']!
}

export function override<T>({ fieldConfig }: Panel, name: string, property: string): T | undefined {
  const matching = (fieldConfig?.overrides ?? []).filter(({ matcher }) =>
    matcher.id === 'byRegexp' ? new RegExp(`^(?:${matcher.options})$`).test(name) : matcher.options === name,
  )
  return matching.flatMap(({ properties }) => properties).find(({ id }) => id === property)?.value as T | undefined
}
