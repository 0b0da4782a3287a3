/**
 * Writes docs/assumptions.md from the catalogue of points that the gateway's specification leaves open.
 */
import { openPointNames, openPoints } from '../src/sandbox/open-points.ts'
import { writeGenerated } from './generated-file.ts'

const nothing = 'nothing'

/** Points that the sandbox does not simulate. */
const others = [
  {
    open: 'Error texts beside "Access denied", "Error in Alpha-name", "Operator not supported" and "Invalid message type"',
    does: 'Knows those of public clients and of the XML transport, such as "Not enough money" and THROTTLE. An unknown text of an item is REJECTED, one of an envelope is retried first.',
    set: '`gateway.errorTexts`, `gateway.notFoundTexts`',
  },
  {
    open: 'What HTTP statuses other than 200 mean',
    does: '300 to 399, and 400 to 499 except 408 and 409, come from a proxy that did not pass the request on: not sent, and the account is held back. 413 halves the envelope, 429 throttles. Any other status is in doubt.',
    set: nothing,
  },
  {
    open: 'How late a request can be executed',
    does: 'Not later than `gateway.timeoutMs` + `doubts.waitMs` after its first byte; then a doubt may be sent again.',
    set: 'raise `doubts.waitMs`',
  },
  {
    open: 'How long an idle connection is kept',
    does: 'At least `gateway.keepAliveMs` (500 ms), or as the Keep-Alive header says. A request on a connection that is being closed is in doubt.',
    set: 'lower `gateway.keepAliveMs` ([decision 006](decisions/006-short-keep-alive.md))',
  },
  {
    open: 'Status and callbacks of `call/otp` and `hlr`',
    does: 'Expects none: a lost answer ends UNRESOLVED at once, unless the policy allows another try.',
    set: '`doubts.policies.TYPE`',
  },
  {
    open: 'Retries of callbacks that are not answered 200',
    does: 'Answers 503 while the bus is unavailable, and expects a retry.',
    set: 'run the role `reconciler`, which polls',
  },
  {
    open: 'Compressed callbacks',
    does: 'Reads only bodies without Content-Encoding; others are answered 400.',
    set: 'let the proxy in front of the receiver decompress them; the reconciler polls',
  },
  {
    open: 'Longest hook address',
    does: 'Makes addresses of at most 255 characters.',
    set: '`callbacks.urlMaxLength`',
  },
  {
    open: 'Lifetime of a channel that has no field for it, or whose field is not set',
    does: 'Expects 172,800 s in every channel; those of a chain add up.',
    set: '`reconciler.graceMs`',
  },
  {
    open: 'Unit of `viber_lifetime` and of the `lifetime` of a stage',
    does: 'Expects seconds.',
    set: '`reconciler.graceMs`',
  },
  {
    open: 'Whether lifetimes may be fractions',
    does: 'Requires whole seconds, from the bus and from the client.',
    set: nothing,
  },
  {
    open: 'Which numbers are valid phones',
    does: 'Requires 7 to 15 digits. Shorter numbers, such as short codes, are INVALID.',
    set: nothing,
  },
  {
    open: 'Which numbers are valid ids',
    does: 'Requires whole numbers from 1 to 2^63-1. 0, negative and fractional ones are INVALID.',
    set: nothing,
  },
  {
    open: 'Whether a text may be empty',
    does: 'A message without any content is refused, from the bus and from the client.',
    set: '`gateway.allowEmpty`, option `allowEmpty` of the client',
  },
  {
    open: '"No other fields" of `balance`, `sender` and template lists, where operations accept additional properties',
    does: 'Sends none of its own, and passes on those of the caller.',
    set: nothing,
  },
  {
    open: 'Required fields of `voice`, `viber`, its slides, and `viber+sms`',
    does: 'Requires `id` and `phone`, and what the section of the type names. The gateway decides on the others: REJECTED.',
    set: 'give the fields of [operations.md](operations.md)',
  },
  {
    open: 'Shape of the stages voice, rcs and telegram of `pipeline`',
    does: 'Accepts the fields of voice in the stage itself or in a nested `voice`; sends a stage as it is given.',
    set: 'give the shape that the gateway wants, with `extra` if the record lacks it',
  },
  {
    open: 'Payloads of template operations except `template/list`',
    does: 'Passes them on unchanged.',
    set: nothing,
  },
]

const header = `# What is assumed of the gateway

<!-- Made by scripts/generate-assumptions.ts from itself and src/sandbox/open-points.ts: change those and run npm run generate. -->

For operators who connect a real gateway: what its specification leaves open, what busgate does, and what to set.

With every reading of the first table, no message is sent twice, every doubt ends, and one-time passwords pass meanwhile: [open-points.test.ts](../test/create-worker/open-points.test.ts) runs a worker that loses answers against each. \`busgate sandbox --open status=text\` behaves by that reading; the first of each point is the default.

| open | point | readings | what busgate does | what to set |
|---|---|---|---|---|
`

const simulated = openPointNames.map(name => {
  const { open, readings, does, set } = openPoints[name]
  const list = Object.entries(readings).map(([reading, meaning]) => `\`${reading}\`: ${meaning}`)
  return row(open, `\`${name}\``, list.join('<br>'), does, set)
})

writeGenerated(
  'docs/assumptions.md',
  [
    header,
    ...simulated,
    '\nThe sandbox does not simulate these points:\n\n| open | what busgate does | what to set |\n|---|---|---|\n',
    ...others.map(({ open, does, set }) => row(open, does, set)),
  ].join(''),
)

function row(...cells: string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}
