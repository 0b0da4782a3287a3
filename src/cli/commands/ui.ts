import { openBus } from '../../bus/open.ts'
import { registryOf } from '../../records/open.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { startUi } from '../../ui/server.ts'
import { command, type Flag, toggle, whole } from '../framework/command.ts'
import { untilSignal, within } from '../framework/signals.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'

const defaultPort = 9465
const closeMs = 3000

const workersFlag: Flag<URL[]> = {
  value: 'URL,…',
  help: 'Telemetry addresses of workers, such as http://worker-1:9464. Figures then come from their metrics, not from the topics.',
  read: list => list.split(',').map(addressOf),
}

export const ui = command({
  about: [
    'Serves a page on 127.0.0.1 until it is stopped, and prints its address: what goes on now, and what became of a',
    'message, as busgate message tells it. It only reads; nothing is sent, written or committed.',
    '',
    'Without --workers the page counts what comes onto the topics from now on. What it shows and from where, and what it',
    'never shows: docs/ui.md.',
  ].join('\n'),
  flags: {
    port: whole('PORT', `Default: ${defaultPort}; 0: any free one.`, 0, 65_535),
    workers: workersFlag,
    show: toggle('Shows texts, phones, codes and replies, and lets phones be looked for. Mind who is looking.'),
    config: configFlag,
  },
  async run({ port = defaultPort, workers = [], show = false, config }) {
    const settings = settingsWithBrokers(config)
    const stopAsked = untilSignal()
    const bus = openBus(settings, new Telemetry())
    try {
      const page = await startUi({ bus, registry: registryOf(settings), settings, port, workers, show })
      process.stdout.write(`${page.url}\n`)
      process.stderr.write('The page is ready; Ctrl-C ends it.\n')
      await stopAsked
      await within(closeMs, 'the end', page.close()).catch(() => {})
      return 0
    } finally {
      await within(closeMs, 'the end', bus.close()).catch(() => {}) // brokers that are away are not waited for
    }
  },
})

/** @throws Error that says what is expected */
function addressOf(text: string): URL {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new Error('expected addresses such as http://worker-1:9464, with commas between')
  }
  if (url.username || url.password) throw new Error('expected addresses without a user and a password')
  return url
}
