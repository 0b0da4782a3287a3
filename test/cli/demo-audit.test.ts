import { expect, onTestFinished, test } from 'vitest'
import { Audit, summaryText } from '../../src/cli/demo/audit.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { openMemoryBus, publishAll, until } from '../support/bus.ts'
import { buildResult } from '../support/results.ts'
import { buildSettings } from '../support/settings.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const settings = buildSettings()
const { results, statuses } = settings.topics

/** The sandbox's counts when both commands were executed and the callback of one was answered 200. */
const asPromised = { executed: 2, ids: 2, billedTwice: 0, accepted: 2, failed: 0 }
const sent = [1n, 2n].map(id => buildResult({ id }))

/** Runs the demo's audit for two commands. */
async function audit(written: SendResult[], { accepted, failed, ...counts } = asPromised) {
  const { bus } = openMemoryBus([results, statuses])
  const registry = embeddedRegistry()
  const encodeResult = await createEncoder<SendResult>(subjectOf(results), schemas.result, registry)
  const encodeStatus = await createEncoder<object>(subjectOf(statuses), schemas.status, registry)
  const audit = new Audit(2)
  onTestFinished(await audit.follow(settings, bus, registry))
  const all = [...written, buildResult({ id: 77n })] // the last one is another program's
  await publishAll(bus, [
    ...all.map(result => ({ topic: results, key: null, value: encodeResult(result) })),
    ...[1n, 1n].map(id => ({ topic: statuses, key: null, value: encodeStatus(buildStatusEvent({ id })) })),
  ])
  const sandbox = { stats: () => ({ ...counts, callbacks: { accepted, failed } }) } as unknown as Sandbox
  const final = new Set(written.filter(one => one.final).map(({ id }) => id)).size
  await until(() => expect([audit.finished, audit.total.states.DELIVERED]).toEqual([final, 1]))
  return audit.report(sandbox)
}

test("the demo's audit passes if topics and gateway agree, and counts a repeated callback once", async () => {
  const report = await audit(sent)
  expect(report).toMatchObject({ ok: true, commands: 2, outcomes: { SENT: 2 }, states: { DELIVERED: 1 } })
  expect(summaryText(report)).toContain('2 callbacks answered 200 (1 repeated)')
})

test("the demo's audit reports commands that were in doubt, and accepts that they end UNRESOLVED", async () => {
  const doubt = buildResult({ id: 1n, outcome: 'IN_DOUBT', final: false })
  const end = buildResult({ id: 1n, outcome: 'UNRESOLVED' })
  for (const ids of [1, 2]) {
    const report = await audit([doubt, end, sent[1]!], { ...asPromised, ids })
    expect(report.ok).toBe(true)
    expect(summaryText(report)).toContain('IN_DOUBT for a while: 1')
  }
})

test("the demo's audit explains why SENT messages have no verdict", async () => {
  expect(summaryText(await audit(sent))).toContain('SENT without a verdict: callback lost at the gateway 1')
})

test.each([
  ['a command without a result', [sent[0]!], {}, 'missing 1'],
  ['a command with two final results', [...sent, sent[0]!], {}, 'with two final ones 1'],
  ['a message billed twice', sent, { executed: 3, billedTwice: 1 }, 'billed twice 1'],
  ['a SENT result of a command that was not executed', sent, { ids: 1 }, 'contradicting results 1'],
  ['a missing status event', sent, { accepted: 4 }, 'not on the topic 2'],
  ['a callback that the gateway gave up', sent, { failed: 1 }, 'given up 1'],
])("the demo's audit reports %s", async (_, written, counts, expected) => {
  const report = await audit(written, { ...asPromised, ...counts })
  expect(report.ok).toBe(false)
  expect(summaryText(report)).toMatch(new RegExp(`✗ .*${expected}`))
})
