import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { readDashboards } from './look/frames.ts'

export interface Rule {
  record?: string
  alert?: string
  expr: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

interface RuleTest {
  tests: { name: string; promql_expr_test?: { expr: string; exp_samples: { labels: string }[] }[] }[]
}

const root = new URL('../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')

export const rules: Rule[] = (
  parse(textOf('helm/alerts/busgate.rules.yaml')) as { groups: { rules: Rule[] }[] }
).groups.flatMap(group => group.rules)

export const alerts = rules.flatMap(rule => (rule.alert ? [{ ...rule, alert: rule.alert }] : []))

export const dashboards = readDashboards()

export const panels = dashboards.flatMap(dashboard =>
  dashboard.panels.filter(({ type }) => type !== 'row').map(panel => ({ dashboard, panel })),
)

/** The Prometheus queries in docs/analytics.md, each with the panel of the dashboard Channels that it names. */
export const questions = [
  ...textOf('docs/analytics.md').matchAll(/^\| [^|]+ \| \d \| ((?:[^|]|\\\|)+) \| (\*.+\*) \|$/gm),
].map(([, queries = '', titles = '']) => ({
  queries: [...queries.matchAll(/`([^`]*\bbusgate_[^`]*)`/g)].map(([, query = '']) => query.replaceAll('\\|', '|')),
  titles: [...titles.matchAll(/\*([^*]+)\*/g)].map(([, title]) => title),
}))

/** Every page in docs/runbooks, by its name. */
export const runbooks = new Map(
  readdirSync(new URL('docs/runbooks/', root))
    .filter(file => file.endsWith('.md'))
    .map(file => [file.slice(0, -3), textOf(`docs/runbooks/${file}`)]),
)

/** The expectations in promtool's tests of the rules. */
export const expectations = readdirSync(new URL('rules/', import.meta.url)).flatMap(file =>
  (parse(readFileSync(new URL(`rules/${file}`, import.meta.url), 'utf8')) as RuleTest).tests.flatMap(
    test => test.promql_expr_test ?? [],
  ),
)
