import { describe, expect, test } from 'vitest'
import { dashboards, panels, questions, runbooks } from './sources.ts'

describe.each(panels)('the panel $panel.title of the dashboard $dashboard.title', ({ panel }) => {
  test('has a description with advice, a unit and a query', () => {
    expect(panel.description.length).toBeGreaterThan(40)
    expect(panel.fieldConfig?.defaults.unit).toBeTruthy()
    expect(panel.targets?.length).toBeGreaterThan(0)
  })

  test('links to runbooks that exist', () => {
    const pages = (panel.links ?? []).map(({ url }) => /^\$runbooks\/(\w+)\.md$/.exec(url)?.[1])
    expect(pages.filter(page => !page || !runbooks.has(page))).toEqual([])
  })
})

test('dashboards have unique uids, and panels unique titles', () => {
  const addresses = dashboards.map(({ uid }) => uid)
  expect(new Set(addresses).size).toBe(addresses.length)
  for (const { panels, title } of dashboards) {
    const titles = panels.map(panel => panel.title)
    expect(titles, title).toEqual([...new Set(titles)])
  }
})

test('every question in docs/analytics.md has a query and a panel', () => {
  const channels = dashboards.find(({ uid }) => uid === 'busgate-channels')
  const titles = channels?.panels.map(({ title }) => title) ?? []
  expect(questions.length).toBe(3)
  for (const question of questions) {
    expect(question.queries).not.toEqual([])
    expect(titles).toEqual(expect.arrayContaining(question.titles))
  }
})

test('the first row of the overview has six large values', () => {
  const overview = dashboards.find(({ uid }) => uid === 'busgate-overview')
  const first = overview?.panels.filter(({ gridPos }) => gridPos.y === 1) ?? []
  expect(first.map(({ type }) => type)).toEqual(Array.from({ length: 6 }, () => 'stat'))
  expect(first.reduce((width, { gridPos }) => width + gridPos.w, 0)).toBe(24)
})
