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

/** Where docs/runbooks is published: the chart puts the real place here, as in the alerts. */
const runbooks = 'https://busgate.example/runbooks'

export const datasource = { type: 'prometheus', uid: '$datasource' }

/** Matchers of what the processes export, and of what the rules make of it, which no longer has an instance. */
export const own = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
export const ruled = 'namespace=~"$namespace", job=~"$job"'

/** An expression, and the legend of each of its series. */
export type Query = readonly [expression: string, legend: string]

/** A counter's increase per second, by one of its labels. */
export const rateBy = (label: string, counter: string, matchers = own): Query => [
  `sum by (${label}) (rate(busgate_${counter}{${matchers}}[$__rate_interval]))`,
  `{{${label}}}`,
]

/** The same, without what does not occur. */
export function positiveRateBy(label: string, counter: string, matchers = own): Query {
  const [expression, legend] = rateBy(label, counter, matchers)
  return [`${expression} > 0`, legend]
}

export const quantiles = (histogram: string, of: readonly number[]): Query[] =>
  of.map(quantile => [
    `histogram_quantile(${quantile}, sum by (le) (rate(busgate_${histogram}_bucket{${own}}[$__rate_interval])))`,
    `p${quantile * 100}`,
  ])

/** What Node.js and the kernel tell of each process of busgate. */
export const byProcess = (expression: string): Query => [
  `${expression} and on (namespace, job, instance) busgate_build_info`,
  '{{instance}}',
]

export interface BoardOptions {
  /** Ends the file's name and the address: busgate-NAME. */
  name: string
  title: string
  description: string
  rows: readonly Row[]
  /** Variables beside the ones that all dashboards have. */
  choices?: readonly QueryVariableBuilder[]
}

interface Row {
  title: string
  panels: readonly Builder<Panel>[]
}

export const row = (title: string, ...panels: Builder<Panel>[]): Row => ({ title, panels })

/** A dashboard with what all have in common: variables, links to the others, and when alerts fired. */
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

/** A variable with several values out of the labels that exist; "All" also matches where the label does not exist. */
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
