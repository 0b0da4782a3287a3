import { openBus } from '../../bus/open.ts'
import { registryOf } from '../../records/registry.ts'
import { shellFlag } from '../../shell.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { startUi } from '../../ui/server.ts'
import { command, given, textFlag, toggle, whole } from '../framework/command.ts'
import { untilSignal, within } from '../framework/terminal.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'

const defaultPort = 9465
const closeMs = 3000

export const ui = command({
  about: [
    'Serves a page on 127.0.0.1 until it is stopped, and prints its address: what happens now, and what became of a',
    'message, as busgate message shows it. It only reads; it sends, writes and commits nothing.',
    '',
    'It counts the records that come while it runs. docs/ui.md explains the page.',
  ].join('\n'),
  flags: {
    port: whole('PORT', `Default: ${defaultPort}; 0: any free one.`, 0, 65_535),
    host: textFlag(
      'HOST',
      'Address to listen on. Default: 127.0.0.1. Use another only in a container that publishes the port.',
    ),
    reveal: toggle('Shows texts, phones, codes and replies, and allows searches by phone.'),
    config: configFlag,
  },
  async run({ port = defaultPort, host, reveal = false, config }) {
    const settings = settingsWithBrokers(config)
    const stopAsked = untilSignal()
    const bus = await openBus(settings, new Telemetry())
    try {
      const commandFlags = config === undefined ? '' : shellFlag('config', config)
      const options = { bus, registry: registryOf(settings), settings, port, reveal, commandFlags }
      const page = await startUi({ ...options, ...given({ host }) })
      process.stdout.write(`${page.url}\n`)
      process.stderr.write('The page is ready; Ctrl-C ends it.\n')
      await stopAsked
      await within(closeMs, 'the end', page.close()).catch(() => {})
      return 0
    } finally {
      await within(closeMs, 'the end', bus.close()).catch(() => {}) // does not wait for unavailable brokers
    }
  },
})
