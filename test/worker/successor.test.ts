import { expect, test } from 'vitest'
import { SchemaNotFound, SchemaUnreadable } from '../../src/records/errors.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import type { SchemaRegistry } from '../../src/records/registry.ts'
import { buildCommandOf } from '../support/commands.ts'
import { buildWithdrawal } from '../support/control.ts'
import { startSendingWorld } from '../support/sending.ts'

/*
 * Whatever a successor thinks of a record that was perhaps sent (of its bytes, its schema, its settings, the time), the record
 * stays perhaps sent: in doubt, or a dead letter that says so.
 */

type World = Awaited<ReturnType<typeof startSendingWorld>>

/** What changes between a worker that was killed while it sent, and its successor. */
interface Change {
  /** Settings of the successor. */
  settings?: object
  /** What the successor's registry returns as schema of commands. */
  commandSchema?: () => object
  /** Fields of the command. */
  command?: Partial<SendCommand>
  /** Called before the kill, while the request is in flight. */
  meanwhile?: (world: World) => void
}

const changes: [string, Change][] = [
  [
    'whose schema the registry has lost',
    {
      commandSchema: () => {
        throw new SchemaNotFound('it is gone')
      },
    },
  ],
  [
    'whose schema is too new for it',
    {
      commandSchema: () => {
        throw new SchemaUnreadable('it is too new')
      },
    },
  ],
  ['whose schema is another now', { commandSchema: () => ({ type: 'record', name: 'Other', fields: [] }) }],
  [
    'that is empty, which its settings do not allow',
    { command: { message: buildCommandOf('sms', {}, { sms_message: '' }).message }, settings: {} },
  ],
  [
    'of an account that it does not know',
    { settings: { commands: { maxAgeMs: 120_000 }, gateway: { accounts: { other: { apiKey: 'other' } } } } },
  ],
  [
    'that is too long for its envelopes',
    { command: { extra: { note: JSON.stringify('x'.repeat(2000)) } }, settings: { gateway: { maxBytes: 1024 } } },
  ],
  [
    'to a country that its settings do not allow',
    { command: { phone: 94711234567 }, settings: { gateway: { countries: 'UA' } } },
  ],
  [
    'that needs more parts than its settings allow',
    {
      command: { message: buildCommandOf('sms', {}, { sms_message: 'я'.repeat(71) }).message },
      settings: { gateway: { maxParts: 1 } },
    },
  ],
  [
    'that was withdrawn meanwhile',
    {
      command: { campaign: 'spring' },
      meanwhile: ({ control, clock }) => control(buildWithdrawal({ name: 'spring', at: clock.now() })),
    },
  ],
  ['whose deadline has passed', { command: { deadline: Date.UTC(2026, 2, 14, 12, 0, 5) } }],
]

const count = 5

test.each(changes)('a successor never says "not sent" of a command that was perhaps sent, %s', async (_, change) => {
  const world = await startSendingWorld({
    settings: { gateway: { allowEmpty: true } },
    takes: ({ operations }) => (operations[0]!.type === 'status' ? 0 : Infinity),
  })
  const { send, pass, postsOf, results, letters, takeOver, registry } = world
  for (let id = 1; id <= count; id++) send(id, { delivery: 'AT_MOST_ONCE', ...change.command })
  await pass(1_000)
  change.meanwhile?.(world)
  await pass(5_000)
  const { commandSchema, settings } = change
  await takeOver({
    ...(settings && { settings }),
    ...(commandSchema && { registry: withCommandSchema(registry, commandSchema) }),
  })
  await pass(300_000, 1_000)

  const ends = results().filter(({ final }) => final)
  expect(results().map(({ outcome }) => outcome)).not.toContainEqual(expect.stringMatching(/INVALID|EXPIRED|REJECTED/))
  expect(ends.every(({ outcome }) => outcome === 'UNRESOLVED' || outcome === 'SENT')).toBe(true)
  expect(letters().map(({ headers }) => String(headers['busgate.error.perhaps-sent']))).toEqual(
    letters().map(() => 'true'),
  )
  expect(ends.length + letters().length).toBe(count)
  for (let id = 1; id <= count; id++) expect(postsOf(id)).toBe(1)
})

test.each([
  ['', undefined, ['taken_over']],
  [', also if the successor cannot read the command', changes[1]![1].commandSchema, []],
])('a second POST whose worker was killed counts as an attempt%s', async (_, commandSchema, causes) => {
  const world = await startSendingWorld({
    settings: {
      gateway: { timeoutMs: 100 },
      doubts: { waitMs: 100, polls: 1, maxAttempts: 2 },
    },
    takes: ({ operations }) => (operations[0]!.type === 'status' ? 0 : Infinity),
  })
  world.doubted(1, {}, { delivery: 'AT_LEAST_ONCE' })
  await world.pass(1_000)
  expect(world.postsOf(1)).toBe(1)
  const told: string[] = []
  world.telemetry.on('doubt.opened', ({ cause }) => told.push(cause))
  await world.takeOver(commandSchema && { registry: withCommandSchema(world.registry, commandSchema) })
  await world.pass(60_000)
  expect(world.postsOf(1)).toBe(1)
  const ends = world.results().filter(({ final }) => final)
  expect(ends).toMatchObject([{ outcome: 'UNRESOLVED', attempts: 2 }])
  expect(told).toEqual(causes)
})

function withCommandSchema(registry: SchemaRegistry, commandSchema: () => object): SchemaRegistry {
  return {
    idOf: registry.idOf,
    async schemaOf(id) {
      const schema = (await registry.schemaOf(id)) as { name?: string }
      return schema.name === 'SendCommand' ? commandSchema() : schema
    },
  }
}
