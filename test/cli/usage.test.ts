import { describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import { busgate, busgateHere } from '../support/cli.ts'

const receiving = {
  BUSGATE_CALLBACKS_PUBLIC_URL: 'https://hooks.example',
  BUSGATE_CALLBACKS_SECRET: 'k1:0123456789abcdef',
}
const embedded = { BUSGATE_KAFKA_BROKERS: 'embedded', BUSGATE_REGISTRY_URL: '' }

describe('a wrong command line exits 2 and says what is wrong:', () => {
  test.each<[args: string[], message: string, env?: object]>([
    [['withdraw', '--reason', 'x'], 'name one of --campaign NAME, --id ID, --correlation-id TEXT, --tenant NAME'],
    [['withdraw', '--campaign', 'a', '--tenant', 'b', '--reason', 'x'], 'name one of --campaign NAME'],
    [['withdraw', '--campaign', '', '--reason', 'x', '--yes'], 'name one of --campaign NAME'],
    [['withdraw', '--campaign', 'a', '--until', '31d'], 'in the future; at most 30d from now\n'],
    [['withdraw', '--campaign', 'a', '--yes'], '--reason TEXT is missing: every result says why'],
    [['pause', '--tenant', 'a'], '--reason TEXT is missing: busgate status and the log say why'],
    ...['', ' \t', 'x'.repeat(501)].flatMap(reason =>
      ['pause', 'withdraw'].map((name): [string[], string] => [
        [name, '--tenant=a', `--reason=${reason}`],
        '--reason: expected why, in 1 to 500 characters',
      ]),
    ),
    [['help', 'rnu'], 'there is no command "rnu"; the nearest is "run"'],
    [['hlep'], 'there is no command "hlep"; the nearest is "help"'],
    [['run', '-v'], 'run has no -v; its flags are --config, --help'],
    [['withdraw', '--account', 'default', '--reason', 'x'], '--account goes with --id'],
    [['withdraw', '--id', '0', '--reason', 'x'], '--id: expected an id'],
    [['rnu'], 'there is no command "rnu"; the nearest is "run"'],
    [['tail', 'result'], 'there is no command "tail result"; the nearest is "tail results"'],
    [['topics'], 'topics needs one of its commands.\n\n  topics create  Creates missing topics.\n'],
    [['dlq', '--at', '0@1'], '  dlq show    Shows one dead letter'],
    [['dlq', 'replya'], 'there is no command "dlq replya"; the nearest is "dlq replay"'],
    [['gateway', 'whatsapp', '{"id":1}'], 'whatsapp is not a type, only a stage of pipeline: give type pipeline'],
    [['docter'], 'the nearest is "doctor"'],
    [['explain', 'gateway.url'], 'there is no command "explain"; the nearest is "config explain"'],
    [['worker'], 'there is no command "worker"; busgate --help lists them all\n'],
    [['dlq', 'worker'], 'there is no command "dlq worker"; busgate dlq --help lists them all\n'],
    [['run', '--keep'], 'run has no --keep; its flags are --config, --help\n'],
    [['config', 'explain', 'quiet'], 'there is no setting quiet; the nearest is gateway.quietHours\n'],
    [['config', 'explain', 'process'], 'there is no setting process; busgate config explain lists the settings\n'],
    [['hooks', 'url', '--account', 'shop'], 'gateway.accounts has no shop; the accounts are default\n', receiving],
    [
      ['send', '--id', '42', '--phone', '380501234567', '--type', 'sms', '--message', '{"text":"Hi"}'],
      'text is no field of sms; its fields are sms_message, ',
    ],
    [['dlq', 'show'], 'dlq show needs --at with one partition@offset'],
    [['dlq', 'show', '--at', '12'], '--at: expected partition@offset, such as 0@12'],
    [['dlq', 'replay'], 'dlq replay needs either --at or --all'],
    [['dlq', 'replay', '--all', '--at', '0@1'], 'dlq replay needs either --at or --all'],
    [['dlq', 'replay', '--all', '--yes'], '--reason TEXT is missing: busgate status --history says why'],
    [['run', '--confg', 'x.yaml'], 'run has no --confg; the nearest is --config'],
    [['demo', '--cuont=5'], 'demo has no --cuont; the nearest is --count'],
    [['demo', '--count'], '--count needs a value: --count N'],
    [['run', '--config', '--json'], '--config needs a value: --config FILE'],
    [['demo', '--count', '0'], '--count: expected a whole number from 1 to 1000000'],
    [['demo', '--keep=yes'], '--keep takes no value'],
    [['sandbox', '--open', 'duplicates=refues'], '--open: the reading of duplicates must be one of execute, refuse'],
    [['sandbox', '--open', 'duplicate=refuse'], '--open: there is no open point "duplicate"; the points are status, '],
    [['sandbox', '--open', 'refuse'], '--open: expected POINT=READING, such as status=text,duplicates=refuse'],
    [['config', 'print', 'all'], 'config print takes no "all": its flags are --config, --json, --help'],
    [
      ['send', '--id', '42', '--phone', '380501234567', '--type', 'whatsapp', '--message', '{}'],
      `type must be one of ${sendTypes.join(', ')}; use pipeline for whatsapp`,
    ],
    [['send', '--tenant', 'caf\ufffd'], '--tenant: expected UTF-8'],
    [['message'], 'message needs an ID, or --correlation-id'],
    [['message', 'abc'], 'ID: expected an id, a whole number from 1 to 9223372036854775807'],
    [['message', '9223372036854775808'], 'expected an id'],
    [['message', '1', '2'], 'message takes no "2"'],
    ...['yesterday', '10', '10min', '1h30m', '1764400000', '2026-02-30', '2036-11-22', '-1h'].flatMap(time =>
      [
        ['message', '1'],
        ['tail', 'results'],
      ].map((name): [string[], string] => [
        [...name, `--since=${time}`],
        '--since: expected a duration such as 30m, 12h or 7d, milliseconds since 1970, or a date such as 2026-11-22T10:00:00Z, in the past\n',
      ]),
    ),
    ...['0s', '10 m', '1764400000', '1600000000000', '2020-11-22', '2036-04-31', '99999-01-01', '9'.repeat(99)].flatMap(
      time =>
        [['pause', '--tenant=x'], ['withdraw', '--tenant=x'], ['send']].map((name): [string[], string] => [
          [...name, `${name[0] === 'send' ? '--deadline' : '--until'}=${time}`],
          'expected a duration such as 30m, 12h or 7d, milliseconds since 1970, or a date such as 2036-11-22T10:00:00Z, in the future',
        ]),
    ),
    ...['2h', '1.5s', '2036-11-22', 'soon', '3600001'].map((time): [string[], string] => [
      ['sandbox', '--latency', time],
      '--latency: expected a duration such as 250ms, 10s or 5m, or milliseconds; at most 1h\n',
    ]),
    [['tail', 'results', '--until-end'], '--until-end needs --since TIME or --from-beginning'],
    [['tail', 'results', '--outcome', 'GONE'], '--outcome: expected one of SENT, REJECTED'],
    [['ui', '--port', '70000'], '--port: expected a whole number from 0 to 65535'],
    [['ui', '--bind', '0.0.0.0'], 'ui has no --bind'],
    [['hooks', 'url', '--account', 'defualt'], 'the nearest is default', receiving],
    [['hooks', 'url'], 'callbacks.publicUrl'],
    ...[
      'tail results',
      'tail statuses',
      'tail dead-letters',
      'send',
      'topics create',
      'dlq list',
      'dlq replay --all',
    ].map((name): [string[], string, object] => [
      name.split(' '),
      'kafka.brokers (BUSGATE_KAFKA_BROKERS): is embedded',
      embedded,
    ]),
    [['schemas', 'check'], 'registry.url (BUSGATE_REGISTRY_URL): is not set', embedded],
    [['schemas', 'register'], 'registry.url (BUSGATE_REGISTRY_URL): is not set', embedded],
    [
      ['send', '--at', '2020-11-22'],
      '--at: expected a duration such as 30m, 12h or 7d, milliseconds since 1970, or a date',
    ],
    [['send', '--in', '1h30m'], '--in: expected a duration such as 250ms, 10s or 5m'],
    [['send', '--at', '3h', '--in', '3h'], 'give one of --at and --in'],
    [['send', '--timeout', '5m'], '--timeout and --json go with --wait'],
    [['send', '--wait', '--timeout', '31d'], '--timeout: expected a duration such as 250ms, 10s or 5m'],
    [['send', '--id', '42'], 'send needs --phone, --type, --message as well'],
    [
      ['send', '--id', '42', '--phone', '380501234567', '--type', 'sms', '--message', 'Hello'],
      "--message is not valid JSON: Unexpected token 'H'\n",
    ],
    [
      ['send', '--id', '42', '--phone', '380501234567', '--type', 'sms', '--message', '{"sms_message":"Hi"'],
      "--message is not valid JSON: Expected ',' or '}' after property value in JSON at position 19",
    ],
  ])('busgate %j', async (args, message, more = {}) => {
    const env = {
      BUSGATE_KAFKA_BROKERS: args[0] === 'demo' ? 'embedded' : '127.0.0.1:1',
      BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1',
      BUSGATE_GATEWAY_URL: 'http://127.0.0.1:1',
      BUSGATE_GATEWAY_API_KEY: 'key',
      ...more,
    }
    const { code, stdout, stderr } = await busgateHere(args, { env })
    expect(stderr).toContain(message)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })

  test('busgate without a command, which lists all commands', async () => {
    const { code, stderr } = await busgateHere([])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^ {2}run +Runs the worker/m)
  })
})

test('--help goes to standard output and lists every command', async () => {
  const { code, stdout, stderr } = await busgateHere(['--help'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const [name, { summary }] of Object.entries(commands)) {
    if (summary !== null) expect(stdout).toContain(`\n  ${name} `)
  }
})

test('the help of a command explains its flags', async () => {
  const { code, stdout } = await busgateHere(['demo', '--help'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Usage: busgate demo \[FLAGS\]/)
  expect(stdout).toMatch(/--count N +How many commands/)
})

test('the help of a group of commands lists them', async () => {
  for (const flag of ['--help', '-h']) {
    const { code, stdout, stderr } = await busgateHere(['dlq', flag])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^Usage: busgate dlq COMMAND \[FLAGS\]\n\n {2}dlq list +Lists .*\n {2}dlq show .*\n {2}dlq replay .*\n\n/,
    )
  }
})

test.each(['--version', '-v'])('%s prints the version of the package', async flag => {
  const { code, stdout } = await busgate([flag], { entry: 'bin' })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('help COMMAND prints the same as COMMAND --help', async () => {
  for (const name of ['', 'dlq', ...Object.keys(commands)]) {
    const words = name.split(' ').filter(Boolean)
    const help = await busgateHere(['help', ...words])
    expect(help).toEqual(await busgateHere([...words, '--help']))
    expect(help).toMatchObject({ code: 0, stderr: '' })
  }
  expect(await busgateHere(['help', '--help'])).toEqual(await busgateHere(['--help']))
})

test.each([
  ['with TypeScript', ''],
  ['without TypeScript', '--no-experimental-strip-types'],
])('the binary says in one sentence that Node.js is too old, on a version %s', async (_, option) => {
  const old = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.11.0'}})"
  const env = { NODE_OPTIONS: `${option} --import=data:text/javascript,${old}` }
  expect(await busgate(['--version'], { entry: 'bin', env })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'busgate needs Node.js 22.19 or newer, and this is 20.11.0: install a newer one (on Linux: npm install node@24, then npx busgate or node_modules/.bin/node).\n',
  })
})
