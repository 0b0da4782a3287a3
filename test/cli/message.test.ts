import { describe, expect, test } from 'vitest'
import type { Change } from '../../src/control/change.ts'
import type { Report } from '../../src/fleet/report.ts'
import { conclusionOf } from '../../src/inspect/message/conclusion.ts'
import { type CommandProgress, type Findings, noFindings, type Sighting } from '../../src/inspect/message/findings.ts'
import { searchedText, storyOf } from '../../src/inspect/message/story.ts'
import type { SendCommand, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { busgateHere } from '../support/cli.ts'
import { buildCommand } from '../support/commands.ts'
import { buildPause, buildWithdrawal } from '../support/control.ts'
import { buildHeld, buildReport } from '../support/reports.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const seen = <T>(topic: string, value: T, time = 0, offset = time): Sighting<T> => ({
  place: { topic, partition: 0, offset },
  time,
  value,
})

interface Found {
  results?: Partial<SendResult>[]
  statuses?: Partial<StatusEvent>[]
  progress?: CommandProgress
  command?: Partial<SendCommand>
  controls?: Change[]
  /** Number of unfinished commands before it. */
  ahead?: number
  /** Reports of the worker that owns its partition, and of another one. */
  owner?: Partial<Report>
  other?: Partial<Report>
}

const processOf = (name: string, report: Partial<Report>) => ({
  name,
  seenAt: 0,
  report: buildReport({ owned: ownedAt(0), ...report }),
})
const place = { topic: 'commands', partition: 0, offset: 0 }
const ownedAt = (perSecond: number) => ({ [place.topic]: { [place.partition]: perSecond } })

/** Builds the findings about message 1001, in order of time. */
function evidenceOf({ results = [], statuses = [], controls = [], ahead = 0, ...found }: Found): Findings {
  const { progress, owner, other } = found
  const command = {
    command: buildCommand(found.command),
    type: 'sms',
    progress: progress ?? 'done',
    replayedFrom: null,
    ahead,
    schemaId: null,
  }
  return {
    ...noFindings(),
    controls,
    fleet: owner
      ? { alive: [processOf('owner', owner), processOf('other', { owned: {}, ...other })], silent: [], skipped: 0 }
      : null,
    commands: progress ? [seen('commands', command)] : [],
    results: results.map((one, i) => seen('results', buildResult(one), i + 1)),
    statuses: statuses.map((one, i) => seen('statuses', buildStatusEvent(one), i + 100)),
  }
}

const quiet = buildPause({
  ...{ kind: 'quiet_hours', name: 'default', by: 'gateway.quietHours' },
  ...{ until: Date.UTC(2026, 0, 3), reason: '21:00-09:00 Europe/Kyiv' },
})
const paused = (kind: 'account' | 'campaign' | 'tenant', name: string): Change =>
  buildPause({ kind, name, by: 'olha', at: Date.UTC(2026, 0, 2), reason: 'wrong price' })

const inThreeHours = Date.now() + 3 * 3_600_000 + 60_000

const conclusion = (found: Found) => conclusionOf(evidenceOf(found), 1001n, 'default')

test.each<[string, Found]>([
  ['in doubt', { results: [{ outcome: 'IN_DOUBT', final: false }] }],
  ['left by a worker that stopped', { progress: 'doubted' }],
  ['unresolved for good', { results: [{ outcome: 'UNRESOLVED' }] }],
])('for a message that is %s, the conclusion says how to ask the gateway', (_, found) => {
  const status = `busgate gateway status '{"id":1001}'`
  expect(conclusion(found)).toMatch(/^Perhaps sent: /)
  expect(conclusion(found)).toContain(`${status}; any status text but UNKNOWN proves`)
})

test('the advice for a message of a named account names the account', () => {
  const evidence = evidenceOf({ results: [{ account: 'shop' }] })
  expect(conclusionOf(evidence, 1001n, 'shop')).toContain(`busgate gateway status '{"id":1001}' --account=shop asks`)
})

test('for a doubt about a type without statuses, the conclusion does not advise to ask the gateway', () => {
  for (const outcome of ['IN_DOUBT', 'UNRESOLVED'] as const) {
    const text = conclusion({ results: [{ outcome, final: outcome === 'UNRESOLVED', type: 'call/otp' }] })
    expect(text).toContain('The gateway has no status of a call/otp.')
    expect(text).not.toContain('gateway status')
  }
})

describe('the conclusion', () => {
  test.each<[string, Found, RegExp]>([
    ['delivered', { results: [{}], statuses: [{}] }, /^Sent: .* as gw-1\. Delivered 20\S+\.$/],
    ['not delivered', { results: [{}], statuses: [{ status: 'EXPIRED' }] }, /Not delivered: EXPIRED .*under a new id/],
    [
      "delivered only according to a callback to the account's address",
      { results: [{}], statuses: [{ verified: false }] },
      /anybody can claim anything.*gateway status/,
    ],
    ['on its way', { results: [{}], statuses: [{ status: 'QUEUED' }] }, /Not delivered yet: QUEUED/],
    [
      'sent without a status',
      { results: [{}] },
      /No status has come yet: .* asks the gateway\. The reconciler, if it runs, asks when a verdict is overdue\.$/,
    ],
    ['read', { results: [{}], statuses: [{ status: 'READ' }] }, /Delivered: READ 20/],
    ['sent, of a type without statuses', { results: [{ type: 'hlr' }] }, /A hlr has no delivery status\.$/],
    [
      'refused',
      { results: [{ outcome: 'REJECTED', errorCode: 'INSUFFICIENT_FUNDS', error: 'Not enough money' }] },
      /^Not sent: the gateway refused it \(INSUFFICIENT_FUNDS: Not enough money\)\. The operator tops up the account; .* under a new id\.$/,
    ],
    [
      'refused, because the gateway knows its id',
      { results: [{ outcome: 'REJECTED', errorCode: 'DUPLICATE_ID', error: 'id exists' }] },
      /the gateway knows its id \(DUPLICATE_ID: id exists\)\. If this message was written before, it was probably sent: .* Ask the gateway: busgate gateway status/,
    ],
    [
      'invalid',
      { results: [{ outcome: 'INVALID', errorCode: 'VALIDATION', error: 'phone' }] },
      /^Not sent: the command violates/,
    ],
    [
      'beyond a limit of countries',
      { results: [{ outcome: 'INVALID', errorCode: 'COUNTRY', error: 'phone' }] },
      /^Not sent: it exceeds a limit of the settings \(COUNTRY: phone\)\. If its country is right, the operator adds it to gateway\.countries/,
    ],
    [
      'beyond a limit of parts',
      { results: [{ outcome: 'INVALID', errorCode: 'PARTS', error: 'sms_message' }] },
      /^Not sent: it exceeds a limit of the settings \(PARTS: sms_message\)\. Shorten the text, or replace the character/,
    ],
    [
      'too late',
      { results: [{ outcome: 'EXPIRED', errorCode: 'DEADLINE' }] },
      /^Not sent: it was too late \(DEADLINE\)/,
    ],
    ['in doubt', { results: [{ outcome: 'IN_DOUBT', final: false }] }, /^Perhaps sent: .*do not send it again/],
    ['in doubt, then sent', { results: [{ outcome: 'IN_DOUBT', final: false }, {}] }, /^Sent: /],
    ['unresolved', { results: [{ outcome: 'UNRESOLVED' }] }, /^Perhaps sent: nobody can tell .*gateway status/],
    [
      'unresolved, but delivered',
      { results: [{ outcome: 'UNRESOLVED' }], statuses: [{}] },
      /until a status came\. Delivered/,
    ],
    [
      'known only by a repeated record',
      { results: [{ outcome: 'DUPLICATE' }] },
      /^Only a repeated record .*--since 30d/,
    ],
    ['waiting', { progress: 'waiting' }, /^Not sent yet: .* is in the queue/],
    [
      'behind 40,000 others at 500 a second',
      { progress: 'waiting', ahead: 40_000, owner: { owned: ownedAt(500) } },
      /^Not sent yet: it is behind 40,000 others in its partition, which finishes 500 a second: its turn comes in about 80 s\.$/,
    ],
    [
      'behind others of which few were finished lately',
      { progress: 'waiting', ahead: 2, owner: { owned: ownedAt(0.1) } },
      /^Not sent yet: it is behind 2 others in its partition, and few of them were finished in the last minute\.$/,
    ],
    [
      'waiting while only a process of other partitions holds its account back',
      { progress: 'waiting', owner: {}, other: { held: [buildHeld({ account: 'default' })] } },
      /^Not sent yet: it is next in its partition\.$/,
    ],
    [
      'waiting behind an open transaction',
      { progress: 'waiting', owner: { stuck: [{ ...place, why: 'transaction', text: 'somebody has a transaction' }] } },
      /^Not sent yet: somebody has a transaction\.$/,
    ],
    [
      'waiting at a worker that does not work',
      { progress: 'waiting', owner: { reasons: ['the coordinator is away'] } },
      /^Not sent yet: its worker, process owner, does not work: the coordinator is away\.$/,
    ],
    ['not read yet', { progress: 'unread' }, /no worker owns/],
    [
      'waiting for its time',
      { progress: 'later', command: { notBefore: inThreeHours }, owner: {} },
      /^Not sent yet: it waits until 20\S+Z \(in 3 h\)\.$/,
    ],
    [
      'not read yet, and not due either',
      { progress: 'unread', command: { notBefore: Date.now() + 8.1 * 24 * 3_600_000 } },
      /^Not sent yet: it waits until 20\S+Z \(in 8 days\)\.$/,
    ],
    [
      'waiting for its time while nobody owns its partition',
      { progress: 'later', command: { notBefore: inThreeHours }, owner: { owned: {} } },
      /^Not sent yet: it waits until 20\S+Z \(in 3 h\)\. No worker owns the partition of commands\/0@0 now\./,
    ],
    [
      'waiting for its time in a paused campaign',
      {
        ...{ progress: 'later', owner: {}, controls: [paused('campaign', 'spring')] },
        command: { notBefore: inThreeHours, campaign: 'spring' },
      },
      /\(in 3 h\)\. It will still wait then, because campaign spring is paused by olha .*busgate resume --campaign spring resumes it\.$/,
    ],
    [
      'waiting for its time, which comes after the end of a pause',
      {
        ...{ progress: 'later', owner: {} },
        controls: [{ ...paused('campaign', 'spring'), until: Date.now() + 60_000 }],
        command: { notBefore: inThreeHours, campaign: 'spring' },
      },
      /\(in 3 h\)\.$/,
    ],
    [
      'waiting for the end of a pause',
      { progress: 'later', command: { campaign: 'spring' }, owner: {}, controls: [paused('campaign', 'spring')] },
      /^Not sent yet: the command at commands\/0@0 waits, because campaign spring is paused by olha/,
    ],
    [
      'due now',
      { progress: 'later', command: { notBefore: Date.now() - 1 }, owner: {} },
      /^Not sent yet: its time has come, and its worker takes it up within seconds\.$/,
    ],
    [
      'withdrawn while it waits for its time',
      {
        ...{ progress: 'later', owner: {}, controls: [buildWithdrawal()] },
        command: { notBefore: inThreeHours, campaign: 'spring' },
      },
      /^Not sent, and it will not be: it ends EXPIRED \(WITHDRAWN\), because campaign spring is withdrawn by olena/,
    ],
    ['being sent', { progress: 'sending' }, /^Being sent now/],
    [
      'tried while its account is held back',
      { progress: 'sending', owner: { held: [buildHeld({ account: 'default' })] } },
      /^Not sent yet: account default has been held back since .* A request for the command at \S+ is in flight, to find out /,
    ],
    [
      'waiting while another account is paused',
      { progress: 'waiting', controls: [paused('account', 'shop')] },
      /is in the queue/,
    ],
    [
      'waiting in quiet hours',
      { progress: 'waiting', controls: [quiet] },
      /waits, because account default, but for its most urgent topic, is paused by gateway\.quietHours .*Kyiv\.$/,
    ],
    [
      'withdrawn, and not read yet',
      { progress: 'unread', controls: [buildWithdrawal({ kind: 'message', name: 'default/1001' })] },
      /^Not sent, and it will not be: .* ends EXPIRED \(WITHDRAWN\), because message 1001 .* is withdrawn by olena .*wrong price/,
    ],
    [
      'waiting while another message is withdrawn',
      { progress: 'waiting', controls: [buildWithdrawal({ kind: 'message', name: 'default/1002' })] },
      /is in the queue/,
    ],
    [
      'withdrawn',
      {
        results: [
          { outcome: 'EXPIRED', errorCode: 'WITHDRAWN', error: 'its campaign was withdrawn by olena: wrong price' },
        ],
      },
      /^Not sent: its campaign was withdrawn by olena: wrong price\. .* under a new id, and outside of the withdrawal: .* busgate withdraw … --end\.$/,
    ],
    [
      'delivered by a callback without a status text',
      { results: [{}], statuses: [{ status: '', state: 'DELIVERED', final: true }] },
      /Delivered \(its callback has no status text\) \d/,
    ],
    [
      'not delivered by a callback whose status says otherwise',
      { results: [{}], statuses: [{ status: 'DELIVERED', state: 'FAILED', success: false }] },
      /Not delivered \(by success of its callback, whose text is DELIVERED\) \d/,
    ],
    ['known only by a status', { statuses: [{}] }, /^Delivered 20/],
    [
      'known only by an unverified callback',
      { statuses: [{ verified: false }] },
      /^Only unverified statuses came, which anybody can forge, and no command .* was found in account default\. busgate gateway status/,
    ],
  ])('fits a message that is %s', (_, found, expected) => {
    expect(conclusion(found)).toMatch(expected)
  })

  test('for a waiting message that was written twice, it names the pause and the repetition', () => {
    const found: Found = {
      progress: 'waiting',
      results: [{ outcome: 'DUPLICATE', commandTopic: 'commands', commandOffset: 1 }],
      controls: [paused('account', 'default'), paused('tenant', 'acme')],
    }
    expect(conclusion(found)).toBe(
      'Not sent yet: the command at commands/0@0 waits, because account default is paused by olha since ' +
        '2026-01-02T00:00:00.000Z until it is resumed: wrong price. busgate resume --account default resumes it. ' +
        'The id came 2 times: the command at commands/0@1 was not sent (DUPLICATE), because the first one counts. ' +
        'Another message needs an id of its own.',
    )
  })

  test('for a deadline in seconds, it says that deadlines are milliseconds', () => {
    const evidence = evidenceOf({ progress: 'done', results: [{ outcome: 'EXPIRED', errorCode: 'DEADLINE' }] })
    expect(conclusionOf(evidence, 1001n, 'default')).toMatch(/^Not sent: it was too late \(DEADLINE\)/)
    evidence.commands[0]!.value.command.deadline = Date.UTC(2026, 0, 2) / 1000
    expect(conclusionOf(evidence, 1001n, 'default')).toBe(
      'Not sent: its deadline is in 1970: deadlines are milliseconds, not seconds. Correct it; if it is still wanted, send ' +
        'it under a new id.',
    )
  })

  test('for a message whose command has its own hook, it says where the callbacks go', () => {
    const evidence = evidenceOf({ progress: 'done', results: [{}] })
    evidence.commands[0]!.value.command.hook = 'https://shop.example/status'
    expect(conclusionOf(evidence, 1001n, 'default')).toContain('callbacks go to the hook of its command')
    expect(conclusion({ progress: 'done', results: [{}] })).toContain('it may still be on its way')
  })

  test('for an id that was sent twice, it says so', () => {
    const text = conclusion({ results: [{ commandOffset: 4 }, { commandOffset: 90_000 }] })
    expect(text).toMatch(
      /^Sent: .*2 commands that were all sent, and paid for: busgate\.commands\/0@4 and busgate\.commands\/0@90000\. .*last 10,000 ids/,
    )
  })

  test("for an id that was written twice, it tells the first record's outcome, and which command was not sent", () => {
    const text = conclusion({ results: [{ commandOffset: 4 }, { outcome: 'DUPLICATE', commandOffset: 9 }] })
    expect(text).toMatch(
      /^Sent: .*The id came 2 times: the command at busgate\.commands\/0@9 was not sent \(DUPLICATE\)/,
    )
  })
})

test("a callback to the account's address counts for a message that had no hook of its own", () => {
  const evidence = evidenceOf({ results: [{ hooked: false }], statuses: [{ verified: false }] })
  expect(conclusionOf(evidence, 1001n, 'default')).toMatch(/Delivered 20/)
  expect(storyOf(evidence, false).at(-1)!.text).toContain('← the verdict')
})

describe('the story of a message', () => {
  test('marks the status that is the verdict, even if another one came later', () => {
    const story = storyOf(evidenceOf({ results: [{}], statuses: [{ status: 'READ' }, { status: 'QUEUED' }] }), false)
    expect(story.map(({ kind, text }) => [kind, text.includes('← the verdict')])).toEqual([
      ['result', false],
      ['status', true],
      ['status', false],
    ])
  })

  test('marks only the first of repeated callbacks as the verdict', () => {
    const story = storyOf(evidenceOf({ results: [{}], statuses: [{}, {}] }), false)
    expect(story.slice(1).map(({ text }) => text)).toEqual([
      'DELIVERED, final, callback, verified ← the verdict',
      'DELIVERED, final, callback, verified',
    ])
  })

  test('hides codes, look-ups, replies, texts and phones without --reveal', () => {
    const hlr = { phone: 380671234567, status: null, imsi: null, mccmnc: null, ported: null, network: null }
    const replies = [{ datetime: null, message: 'my secret', media: null }]
    const evidence = evidenceOf({
      progress: 'waiting',
      results: [{ code: '0815', payload: '{"x":"secret"}', hlr }],
      statuses: [{ reply: '5', replies, extra: '{"to":380509998877}' }],
    })
    const secrets = ['0815', 'secret', '380671234567', '380509998877', String(buildCommand().phone), 'reply 5']
    const written = (reveal: boolean) =>
      JSON.stringify(storyOf(evidence, reveal), (_, value) => (typeof value === 'bigint' ? String(value) : value))
    for (const secret of secrets) {
      expect(written(false)).not.toContain(secret)
      expect(written(true)).toContain(secret)
    }
  })

  test('lists what was searched, and what is deleted or unreadable', () => {
    const log = { topic: 'results', partition: 2, records: 10, since: 0, olderAreGone: true, unreadable: 1 }
    const evidence: Findings = { ...noFindings(), searched: [log], gaps: ['There is no topic doubts.'] }
    expect(searchedText(evidence)).toEqual([
      'Searched:',
      '  results/2: 10 offsets, since 1970-01-01T00:00:00.000Z; older ones are deleted (retention); 1 batch cannot be read',
      '  There is no topic doubts.',
    ])
  })
})

test('message --help shows that the id needs no flag', async () => {
  expect((await busgateHere(['message', '--help'])).stdout).toContain('Usage: busgate message [ID] [FLAGS]')
})
