import { describe, expect, test } from 'vitest'
import { alerts, dashboards, expectations, runbooks } from './sources.ts'

const headings = ['Meaning', 'Diagnosis', 'Mitigation']
const place = 'https://busgate.example/runbooks'
const others = ['README', 'objectives']

describe.each(alerts)('the alert $alert, $labels.severity', ({ alert, labels, annotations }) => {
  test('has a severity, a summary and a runbook', () => {
    expect(['page', 'ticket']).toContain(labels?.severity)
    expect(annotations?.summary?.length).toBeGreaterThan(20)
    expect(annotations?.description?.length).toBeGreaterThan(40)
    expect(annotations?.runbook_url).toBe(`${place}/${alert}.md`)
  })

  test('has a runbook with meaning, diagnosis and mitigation', () => {
    const page = runbooks.get(alert) ?? ''
    expect(page.split('\n')[0]).toBe(`# ${alert}`)
    expect(Array.from(page.matchAll(/^## (.*)$/gm), ([, heading]) => heading)).toEqual(headings)
    expect(runbooks.get('README')).toContain(`(${alert}.md)`)
  })

  test('has a promtool test in which it fires, and one in which it does not', () => {
    const own = expectations.filter(({ expr }) => new RegExp(`alertname=~?"[^"]*\\b${alert}\\b`).test(expr))
    const fires = (labelled: string) =>
      labelled.includes(`alertname="${alert}"`) && labelled.includes(`severity="${labels?.severity}"`)
    expect(own.some(({ exp_samples }) => exp_samples.some(sample => fires(sample.labels)))).toBe(true)
    expect(own.some(({ exp_samples }) => exp_samples.length === 0)).toBe(true)
  })
})

test('every runbook belongs to an alert', () => {
  const names = new Set(alerts.map(({ alert }) => alert))
  expect([...runbooks.keys()].filter(name => !names.has(name) && !others.includes(name))).toEqual([])
})

test('runbooks name panels, pages and dashboards that exist', () => {
  const titles = [...dashboards.flatMap(({ panels }) => panels.map(({ title }) => title)), 'busgate / Overview']
  const known = (name: string) => titles.some(title => title === name || title.startsWith(name.replace(/ …$/, '')))
  for (const [name, page] of runbooks) {
    for (const [, link] of page.matchAll(/\]\((\w+)\.md\)/g)) expect(runbooks.has(link!), `${name}: ${link}`).toBe(true)
    const named = Array.from(page.matchAll(/(?<![*\w])\*([^*\n]+)\*(?![*\w])/g), ([, title]) => title!)
    expect(
      named.filter(title => !known(title)),
      name,
    ).toEqual([])
  }
})
