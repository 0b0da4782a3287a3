// Compares the rules and dashboards in rendered manifests with their files: templating must not change a double brace.
// Prints the rules as Prometheus gets them. Usage: node .ci/helm-files.mjs MANIFESTS
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parse, parseAllDocuments, stringify } from 'yaml'

const objects = parseAllDocuments(readFileSync(process.argv[2], 'utf8')).map(document => document.toJS())
const rules = objects.find(object => object?.kind === 'PrometheusRule')
const dashboards = objects.filter(object => object?.metadata.labels?.grafana_dashboard === '1')
/** The address of the runbooks, which is the only difference. */
const runbooks = /"runbook_url":"(.+?)\/\w+\.md"/.exec(JSON.stringify(rules))?.[1]

if (rules) {
  assert.deepEqual(withoutLimits(rules.spec), withoutLimits(parse(fromFile('helm/alerts/busgate.rules.yaml'))))
  process.stdout.write(stringify(rules.spec))
}
if (dashboards.length > 0) {
  const files = globSync('helm/dashboards/*.json').map(file => [basename(file), fromFile(file)])
  assert.deepEqual(Object.assign({}, ...dashboards.map(({ data }) => data)), Object.fromEntries(files))
}

function fromFile(file) {
  return readFileSync(file, 'utf8').trim().replaceAll('https://busgate.example/runbooks', runbooks)
}

/** Removes the group that the chart makes from its values. */
function withoutLimits({ groups }) {
  assert(groups.some(({ name }) => name === 'busgate-limits'))
  return groups.filter(({ name }) => name !== 'busgate-limits')
}
