import { startSandbox } from '../../sandbox/index.ts'
import { choiceFlag, command, type Flag, given, textFlag, whole } from '../framework/command.ts'
import { untilSignal } from '../framework/terminal.ts'

const hour = 3_600_000
const keys: Flag<string[]> = {
  value: 'KEY,KEY',
  help: 'API keys of its one account. Default: sandbox-key.',
  read: list => list.split(',').filter(Boolean),
}

export const sandbox = command({
  about: [
    'Runs a gateway simulator until it is stopped, and prints its address: a gateway.url for busgate run.',
    'It sends nothing to anybody. The last two digits of a phone decide what happens to a message, and faults',
    'can be ordered over HTTP: see docs/sandbox.md.',
  ].join('\n'),
  flags: {
    port: whole('PORT', 'Default: any free one.', 0, 65_535),
    host: textFlag('HOST', 'Address to listen on. Default: 127.0.0.1.'),
    keys,
    latency: whole('MS', 'How long an answer takes. Default: 0.', 0, hour),
    'callback-delay': whole('MS', 'From execution to the first callback. Default: 50 to 500.', 0, hour),
    'account-callback-url': textFlag('URL', "Where a pipeline's statuses go: see busgate hooks url. Default: nowhere."),
    rate: whole('N', 'Operations a second; those above it are throttled. Default: no limit.', 1, 1e9),
    'max-operations': whole('N', 'Operations in an envelope; a larger one is refused. Default: no limit.', 1, 1e9),
    balance: whole('AMOUNT', 'What the account starts with. Default: 1000000000.', 0, 1e15),
    duplicates: choiceFlag('WAY', ['execute', 'refuse'], 'What becomes of an id that was executed before.'),
    seed: textFlag('TEXT', 'Everything that looks random follows from it. Default: 1.'),
  },
  async run(flags) {
    const stopAsked = untilSignal()
    const running = await startSandbox(
      given({
        port: flags.port,
        host: flags.host,
        keys: flags.keys,
        latencyMs: flags.latency,
        callbackDelayMs: flags['callback-delay'],
        accountCallbackUrl: flags['account-callback-url'],
        rate: flags.rate,
        maxOperations: flags['max-operations'],
        balance: flags.balance,
        duplicates: flags.duplicates,
        seed: flags.seed,
      }),
    )
    process.stdout.write(`${running.url}\n`)
    process.stderr.write(`The sandbox is ready: counts at ${running.url}/_stats, requests at ${running.url}/_log.\n`)
    await stopAsked
    await running.close()
    return 0
  },
})
