import { PanelBuilder as BarGauge } from '@grafana/grafana-foundation-sdk/bargauge'
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog'
import {
  BarGaugeDisplayMode,
  BarGaugeValueMode,
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  type DataSourceRef,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TableSortByFieldStateBuilder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizOrientation,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import {
  type DashboardLink,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as StateTimeline } from '@grafana/grafana-foundation-sdk/statetimeline'
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table'
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries'
import type { EnvelopeOutcome, PollResult } from '../../src/telemetry/labels.ts'
import { type Outcome, outcomes, type State } from '../../src/vocabulary/lists.ts'
import { datasource, type Query, runbookLink } from './board.ts'

/** The colour of the lowest values, then each higher threshold with its colour. */
type Steps = readonly [lowest: string, ...higher: (readonly [from: number, color: string])[]]

interface Options {
  title: string
  /** What the panel shows, and what to do about it. */
  description: string
  /** Width in columns of the grid, which has 24. */
  width: number
  /** Height in rows. Default 7. */
  height?: number
  /** Grafana's name of a unit: s, percentunit, reqps, … */
  unit: string
  queries: readonly Query[]
  /** The names of pages in docs/runbooks. */
  runbooks?: readonly string[]
  steps?: Steps
}

/** The common methods of all panels. */
interface Panel {
  title(title: string): this
  description(description: string): this
  span(columns: number): this
  height(rows: number): this
  unit(unit: string): this
  datasource(datasource: DataSourceRef): this
  links(links: Builder<DashboardLink>[]): this
  withTarget(target: Builder<Dataquery>): this
  thresholds(thresholds: ThresholdsConfigBuilder): this
  mappings(mappings: ValueMapping[]): this
  overrideByName(name: string, properties: { id: string; value: unknown }[]): this
}

/** The colours of series with well-known names. */
const colors: Record<Outcome | State | EnvelopeOutcome | PollResult | 'limit', string> = {
  SENT: 'green',
  DELIVERED: 'green',
  answered: 'green',
  sent: 'green',
  verdict: 'blue',
  not_found: 'blue',
  pending: 'blue',
  PENDING: 'blue',
  DUPLICATE: 'blue',
  refused: 'purple',
  INVALID: 'purple',
  EXPIRED: 'yellow',
  not_sent: 'yellow',
  REJECTED: 'orange',
  IN_DOUBT: 'light-orange',
  inconclusive: 'light-orange',
  unreadable: 'orange',
  unknown: 'light-orange',
  UNKNOWN: 'light-orange',
  FAILED: 'red',
  UNRESOLVED: 'red',
  denied: 'red',
  unanswered: 'red',
  limit: 'red',
}

export const resultOutcomes = outcomes.filter(outcome => outcome !== 'IN_DOUBT')

/** Large numbers with current values. A process that is gone is left out, rather than shown with its last value. */
export function stat(options: Options & { texts?: Record<string, string> }): Stat {
  const panel = common(new Stat(), { height: 4, ...options }, query => query.instant())
    .colorScheme(bySteps())
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .colorMode(BigValueColorMode.Background)
    .graphMode(BigValueGraphMode.None)
    .textMode(options.queries.length > 1 ? BigValueTextMode.ValueAndName : BigValueTextMode.Value)
  return options.texts ? panel.mappings([textsOf(options.texts)]) : panel
}

/** Lines over time, or stacked areas for the parts of a whole. Steps are drawn as threshold lines. */
export function lines(options: Options & { stacked?: boolean; max?: number }): TimeSeries {
  const panel = common(new TimeSeries(), options, query => query.range())
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassic))
    .min(0)
    .lineWidth(options.stacked ? 1 : 2)
    .fillOpacity(options.stacked ? 40 : 8)
    .showPoints(VisibilityMode.Never)
    .spanNulls(false)
    .legend(
      new VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .calcs(['lastNotNull']),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
  if (options.max !== undefined) panel.max(options.max)
  if (options.stacked) panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal))
  if (options.steps) {
    panel.thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed))
  }
  return options.queries.some(([, legend]) => legend.startsWith('limit'))
    ? panel.overrideByRegexp('limit.*', dashed)
    : panel
}

const dashed = [
  { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 8] } },
  { id: 'custom.fillOpacity', value: 0 },
  { id: 'color', value: { mode: 'fixed', fixedColor: 'red' } },
]

/** A funnel: one bar for each query, top to bottom. */
export function bars(options: Options): BarGauge {
  return common(new BarGauge(), options, query => query.instant())
    .colorScheme(bySteps())
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .displayMode(BarGaugeDisplayMode.Basic)
    .valueMode(BarGaugeValueMode.Color)
    .orientation(VizOrientation.Horizontal)
    .min(0)
}

/** The state of each series over time. */
export function timeline(options: Options & { texts: Record<string, string> }): StateTimeline {
  return common(new StateTimeline(), options, query => query.range())
    .colorScheme(bySteps())
    .mappings([textsOf(options.texts)])
    .fillOpacity(80)
    .lineWidth(0)
}

/** A table joined by a common label, with a column for each query; its legend is the heading. */
export function table(options: Options & { by: string; units?: Record<string, string> }): Table {
  const { by, queries, units = {} } = options
  const panel = common(new Table(), options, query => query.instant().format(PromQueryFormat.Table))
  const headings = Object.fromEntries(queries.map(([, legend], i) => [`Value #${refId(i)}`, legend]))
  panel
    .withTransformation({ id: 'joinByField', options: { byField: by, mode: 'outer' } })
    .withTransformation({
      id: 'organize',
      options: { renameByName: headings, excludeByName: {}, indexByName: { [by]: 0 } },
    })
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { names: [by, ...Object.values(headings)] } },
    })
  for (const [heading, unit] of Object.entries(units)) panel.overrideByName(heading, [{ id: 'unit', value: unit }])
  return panel
}

/** A table of the firing alerts, with links to their runbooks. */
export function firing(options: Omit<Options, 'unit'> & { columns: Record<string, string> }): Table {
  const panel = common(new Table(), { ...options, unit: 'string' }, query =>
    query.instant().format(PromQueryFormat.Table),
  )
  return panel
    .noValue('No alert fires.')
    .sortBy([new TableSortByFieldStateBuilder().displayName('Severity')])
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { names: Object.keys(options.columns) } },
    })
    .withTransformation({
      id: 'organize',
      options: {
        renameByName: options.columns,
        indexByName: Object.fromEntries(Object.keys(options.columns).map((name, i) => [name, i])),
      },
    })
    .overrideByName(Object.values(options.columns)[0]!, [
      {
        id: 'links',
        value: [{ title: 'Runbook', url: `$runbooks/\${__value.raw}.md`, targetBlank: true }],
      },
    ])
}

function common<P extends Panel>(panel: P, options: Options, ask: (query: DataqueryBuilder) => DataqueryBuilder): P {
  const { title, description, width, height = 7, unit, queries, runbooks = [], steps } = options
  panel.title(title).description(description).span(width).height(height).unit(unit).datasource(datasource)
  panel.thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(thresholdsOf(steps)))
  for (const [i, [expr, legend]] of queries.entries()) {
    panel.withTarget(ask(new DataqueryBuilder().refId(refId(i)).expr(expr).legendFormat(legend)))
  }
  if (runbooks.length > 0) panel.links(runbooks.map(page => runbookLink(page)))
  return panel
}

/** Gives series with these names the same colours as in all panels. */
export function colored<P extends Panel>(panel: P, names: readonly (keyof typeof colors)[]): P {
  for (const name of names) {
    panel.overrideByName(name, [{ id: 'color', value: { mode: 'fixed', fixedColor: colors[name] } }])
  }
  return panel
}

function textsOf(texts: Record<string, string>): ValueMapping {
  const options = Object.fromEntries(Object.entries(texts).map(([value, text], index) => [value, { text, index }]))
  return { type: MappingType.ValueToText, options }
}

/** An override of the panel's steps. */
export function stepsOf(...steps: Steps): { id: string; value: unknown } {
  return { id: 'thresholds', value: { mode: ThresholdsMode.Absolute, steps: thresholdsOf(steps) } }
}

function thresholdsOf([lowest, ...higher]: Steps = ['green']): Threshold[] {
  const steps = [[null, lowest] as const, ...higher]
  return steps.map(([value, color]) => ({ value, color }) as Threshold) // the type does not allow the first value, null
}

const bySteps = () => new FieldColorBuilder().mode(FieldColorModeId.Thresholds)

const refId = (i: number): string => String.fromCharCode(65 + i)
