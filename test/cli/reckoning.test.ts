import { expect, onTestFinished, test } from 'vitest'
import { type Audit, reckon } from '../../src/cli/demo/audit.ts'
import { commandOf } from '../../src/cli/demo/scenario.ts'
import { summaryText } from '../../src/cli/demo/summary.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'

/** Builds what a reader finds of the demo's first two commands, which are sent and delivered. */
function buildAudit(changes: Partial<Audit> = {}): Audit {
  return {
    outcomes: ['SENT', 'SENT'],
    errorCodes: [null, null],
    finals: Uint8Array.of(1, 1),
    states: [['DELIVERED'], ['DELIVERED']],
    doubted: Uint8Array.of(0, 0),
    finished: 2,
    results: {},
    statuses: {},
    strays: 0,
    lastAt: 0,
    close: async () => {},
    ...changes,
  }
}

/** A gateway that has executed these of the demo's commands. */
async function gatewayAfter(...indexes: number[]): Promise<Sandbox> {
  const sandbox = await startSandbox({ callbackDelayMs: 60_000 })
  onTestFinished(() => sandbox.close())
  const data = indexes.map(commandOf).map(({ type, id, phone, message }) => ({ type, id, phone, ...message }))
  await fetch(`${sandbox.url}/api/json.php`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: 'sandbox-key', data }),
  })
  return sandbox
}

test('topics that agree with the gateway are as promised', async () => {
  const reckoning = reckon(2, buildAudit(), await gatewayAfter(0, 1))
  expect(reckoning).toMatchObject({ ok: true, results: { outcomes: { SENT: 2 } }, gateway: { billed: 2 } })
})

test.each<[string, Partial<Audit>, string]>([
  ['a command without a result', { outcomes: ['SENT'], finals: Uint8Array.of(1, 0) }, 'missing 1'],
  ['a command with two final results', { finals: Uint8Array.of(1, 2) }, 'with two final ones 1'],
  ['a result that denies what was executed', { outcomes: ['SENT', 'EXPIRED'] }, 'contradicting results 1'],
  ['a status that is missing', { states: [['DELIVERED'], []] }, 'not on the topic 1'],
  ['a record of somebody else', { strays: 1 }, '1 unexpected records'],
])('%s is told', async (_name, changes, told) => {
  const reckoning = reckon(2, buildAudit(changes), await gatewayAfter(0, 1))
  expect(reckoning.ok).toBe(false)
  expect(summaryText(reckoning)).toMatch(new RegExp(`✗ .*${told}`))
})

test('a message that was billed twice is told', async () => {
  const reckoning = reckon(2, buildAudit(), await gatewayAfter(0, 1, 1))
  expect(reckoning.ok).toBe(false)
  expect(summaryText(reckoning)).toMatch(/✗ .*billed twice 1/)
})

test('a command that was in doubt is told with what became of it, and may have been executed or not', async () => {
  const audit = buildAudit({
    outcomes: ['UNRESOLVED', 'UNRESOLVED'],
    doubted: Uint8Array.of(1, 1),
    states: [['DELIVERED'], []],
  })
  const reckoning = reckon(2, audit, await gatewayAfter(0))
  expect(reckoning).toMatchObject({ ok: true, results: { afterDoubt: { UNRESOLVED: 2 } } })
  expect(summaryText(reckoning)).toContain('IN_DOUBT for a while 2, then UNRESOLVED 2')
})

test('a command that is still in doubt has no final result: that is told', async () => {
  const audit = buildAudit({ outcomes: ['SENT'], finals: Uint8Array.of(1, 0), doubted: Uint8Array.of(0, 1) })
  expect(reckon(2, audit, await gatewayAfter(0, 1)).ok).toBe(false)
})
