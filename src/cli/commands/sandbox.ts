import { startSandbox } from '../../sandbox/index.ts'
import { choiceFlag, command, type Flag, given, textFlag, whole } from '../framework/command.ts'
import { untilSignal } from '../framework/terminal.ts'

const hour = 3_600_000
const keys: Flag<string[]> = {
  value: 'KEY,KEY',
  help: 'API keys of its only account. Default: sandbox-key.',
  read: list => list.split(',').filter(Boolean),
}

export const sandbox = command({
  about: [
    'Runs a gateway simulator until it is stopped, and prints its address for gateway.url.',
    'It sends nothing to anyone. The last two digits of a phone choose the outcome of a message, and you order faults',
    'over HTTP: see docs/sandbox.md.',
  ].join('\n'),
  flags: {
    port: whole('PORT', 'Default: any free one.', 0, 65_535),
    host: textFlag('HOST', 'Address to listen on. Default: 127.0.0.1.'),
    keys,
    latency: whole('MS', 'Latency of an answer. Default: 0.', 0, hour),
    'callback-delay': whole('MS', 'Time from execution to the first callback. Default: 50 to 500.', 0, hour),
    'account-callback-url': textFlag('URL', "Where a pipeline's statuses go: see busgate hooks url. Default: nowhere."),
    rate: whole('N', 'Operations a second; those above it are throttled. Default: no limit.', 1, 1e9),
    'max-operations': whole('N', 'Operations in an envelope; a larger one is refused. Default: no limit.', 1, 1e9),
    balance: whole('AMOUNT', 'Balance at the start. Default: 1000000000.', 0, 1e15),
    duplicates: choiceFlag('WAY', ['execute', 'refuse'], 'What to do with an id that was executed before.'),
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
      }),
    )
    process.stdout.write(`${running.url}\n`)
    process.stderr.write(`The sandbox is ready: counts at ${running.url}/_stats, requests at ${running.url}/_log.\n`)
    await stopAsked
    await running.close()
    return 0
  },
})
