import { startSandbox } from '../../sandbox/index.ts'
import { type Readings, readingsWith } from '../../sandbox/open-points.ts'
import { command, type Flag, given, textFlag, UsageError, whole } from '../framework/command.ts'
import { untilSignal } from '../framework/terminal.ts'
import { durationFlag } from '../framework/times.ts'

const keys: Flag<string[]> = {
  value: 'KEY,KEY',
  help: 'API keys of its only account. Default: sandbox-key.',
  read: list => list.split(',').filter(Boolean),
}

/** @throws UsageError */
function readOpen(list: string): Partial<Readings> {
  const chosen = list.split(',').map((choice): [string, string] => {
    const [point, reading] = choice.split('=', 2)
    if (!point || !reading) throw new UsageError('expected POINT=READING, such as status=text,duplicates=refuse')
    return [point, reading]
  })
  return readingsWith(Object.fromEntries(chosen))
}

const openFlag: Flag<Partial<Readings>> = {
  value: 'POINT=READING,…',
  help: 'How to read what the specification leaves open, such as status=text: docs/assumptions.md lists all points.',
  read: readOpen,
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
    latency: durationFlag('Latency of an answer. Default: 0.', '1h'),
    'callback-delay': durationFlag('Time from execution to the first callback. Default: 50 to 500 ms.', '1h'),
    'account-callback-url': textFlag('URL', "Where a pipeline's statuses go: see busgate hooks url. Default: nowhere."),
    rate: whole('N', 'Operations a second; those above it are throttled. Default: no limit.', 1, 1e9),
    'max-operations': whole('N', 'Operations in an envelope; a larger one is refused. Default: no limit.', 1, 1e9),
    balance: whole('AMOUNT', 'Balance at the start. Default: 1000000000.', 0, 1e15),
    open: openFlag,
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
        open: flags.open,
      }),
    )
    process.stdout.write(`${running.url}\n`)
    process.stderr.write(`The sandbox is ready: counts at ${running.url}/_stats, requests at ${running.url}/_log.\n`)
    await stopAsked
    await running.close()
    return 0
  },
})
