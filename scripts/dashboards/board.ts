import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  AnnotationQueryBuilder,
  ConstantVariableBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  type Panel,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'

/** The address of docs/runbooks, which the chart replaces by the real one, as in the alerts. */
const runbooks = 'https://busgate.example/runbooks'

export const datasource = { type: 'prometheus', uid: '$datasource' }

/** Matchers for metrics of processes (`own`) and for recording rules, which have no instance (`ruled`). */
export const own = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
export const ruled = 'namespace=~"$namespace", job=~"$job"'

/** An expression and the legend of its series. */
export type Query = readonly [expression: string, legend: string]

/** A counter's increase per second, by one of its labels. */
export const rateBy = (label: string, counter: string, matchers = own): Query => [
  `sum by (${label}) (rate(busgate_${counter}{${matchers}}[$__rate_interval]))`,
  `{{${label}}}`,
]

/** The same, without series that are 0. */
export function positiveRateBy(label: string, counter: string, matchers = own): Query {
  const [expression, legend] = rateBy(label, counter, matchers)
  return [`${expression} > 0`, legend]
}

export const quantiles = (histogram: string, of: readonly number[]): Query[] =>
  of.map(quantile => [
    `histogram_quantile(${quantile}, sum by (le) (rate(busgate_${histogram}_bucket{${own}}[$__rate_interval])))`,
    `p${quantile * 100}`,
  ])

/** A metric of Node.js or the kernel for each busgate process. */
export const byProcess = (expression: string): Query => [
  `${expression} and on (namespace, job, instance) busgate_build_info`,
  '{{instance}}',
]

export interface BoardOptions {
  /** NAME in the file name and uid busgate-NAME. */
  name: string
  title: string
  description: string
  rows: readonly Row[]
  /** Variables in addition to those of all dashboards. */
  choices?: readonly QueryVariableBuilder[]
}

interface Row {
  title: string
  panels: readonly Builder<Panel>[]
}

export const row = (title: string, ...panels: Builder<Panel>[]): Row => ({ title, panels })

/** Builds a dashboard with the common variables, links to the others, and annotations of firing alerts. */
export function board({ name, title, description, rows, choices = [] }: BoardOptions): Dashboard {
  const builder = new DashboardBuilder(`busgate / ${title}`)
    .uid(`busgate-${name}`)
    .description(description)
    .tags(['busgate'])
    .timezone('browser')
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(new ConstantVariableBuilder('runbooks').label('Runbooks').value(runbooks))
    .withVariable(choice('namespace', 'Namespace', 'label_values(busgate_build_info, namespace)'))
    .withVariable(choice('job', 'Job', 'label_values(busgate_build_info{namespace=~"$namespace"}, job)'))
    .withVariable(choice('instance', 'Process', `label_values(busgate_build_info{${ruled}}, instance)`))
    .link(
      new DashboardLinkBuilder('busgate')
        .type(DashboardLinkType.Dashboards)
        .tags(['busgate'])
        .includeVars(true)
        .keepTime(true),
    )
    .link(runbookLink('objectives', 'Objectives'))
    .annotation(
      new AnnotationQueryBuilder()
        .name('Alerts')
        .datasource(datasource)
        .enable(true)
        .iconColor('red')
        .target(
          new DataqueryBuilder()
            .refId('Anno')
            .expr('ALERTS{alertname=~"Busgate.+", alertstate="firing", namespace=~"$namespace"}'),
        )
        .titleFormat('{{alertname}}')
        .textFormat('{{severity}} {{account}} {{topic}} {{instance}}'),
    )
  for (const variable of choices) builder.withVariable(variable)
  for (const { title, panels } of rows) {
    builder.withRow(new RowBuilder(title))
    for (const panel of panels) builder.withPanel(panel)
  }
  const made = builder.build()
  for (const [index, panel] of (made.panels ?? []).entries()) panel.id = index + 1
  return made
}

/** A variable whose values come from existing labels. "All" also matches series without the label. */
export function choice(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(datasource)
    .query(query)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: ['All'], value: ['$__all'] })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
}

export function runbookLink(page: string, title = `Runbook: ${page}`): DashboardLinkBuilder {
  return new DashboardLinkBuilder(title)
    .type(DashboardLinkType.Link)
    .icon('doc')
    .url(`$runbooks/${page}.md`)
    .targetBlank(true)
}
