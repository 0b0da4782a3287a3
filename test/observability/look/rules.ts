import { readFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'

interface Rules {
  groups: { name: string; rules: { record?: string; alert?: string; expr: string; for?: string; labels?: object }[] }[]
}

/**
 * The rules for a short run: limits set as the chart sets those of a release, and alerts that fire after their condition
 * has held for some seconds.
 */
export function impatientRules(urgentTopic: string): string {
  const path = new URL('../../../helm/alerts/busgate.rules.yaml', import.meta.url)
  const { groups } = parse(readFileSync(path, 'utf8')) as Rules
  const [limits, ...others] = groups
  if (limits?.name !== 'busgate-limits') throw new Error('the first group is not busgate-limits')
  limits.rules = [
    { record: 'busgate:limit_age_seconds', expr: 'vector(15)' },
    { record: 'busgate:limit_age_seconds', expr: 'vector(1)', labels: { topic: urgentTopic } },
    { record: 'busgate:limit_runway_seconds', expr: 'vector(259200)' },
    { record: 'busgate:expected_role', expr: 'vector(1)', labels: { role: 'worker' } },
  ]
  for (const rule of others.flatMap(({ rules }) => rules)) if (rule.for) rule.for = '5s'
  return stringify({ groups: [limits, ...others] })
}
