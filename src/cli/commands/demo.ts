import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startUi } from '../../ui/server.ts'
import { reckon } from '../demo/audit.ts'
import { goOn, play } from '../demo/play.ts'
import { createProgress, type ProgressDisplay } from '../demo/progress.ts'
import { brokersAreNamed, type RunningDemo, setStage } from '../demo/stage.ts'
import { addressesOf, grouped, summaryText } from '../demo/summary.ts'
import { command, toggle, UsageError, whole } from '../framework/command.ts'
import { untilSignal, within } from '../framework/terminal.ts'

const defaultCount = 1000
const cleanupMs = 10_000

type Cleanups = (() => Promise<unknown>)[]

interface DemoOptions {
  total: number
  kafka: boolean
  kill: boolean
  keep: boolean
  json: boolean
  /** Interrupted: whatever is under way is given up. */
  interrupted: AbortSignal
}

export const demo = command({
  about: [
    'Runs everything on this machine: commands of all eleven types on a bus, the real worker and',
    "callback receiver, a gateway simulator. Then compares the topics with the gateway's counts; exits 1 if a",
    'command has no result or two, was billed twice, or a status is missing.',
    '',
    'The bus is inside this process, or the Kafka that BUSGATE_KAFKA_BROKERS and BUSGATE_REGISTRY_URL name;',
    'on that one the topics busgate-demo-… remain.',
  ].join('\n'),
  flags: {
    count: whole('N', `How many commands. Default: ${defaultCount}.`, 1, 1_000_000),
    kafka: toggle('Uses a real Kafka. If none is named, starts one from Maven Central (needs Java 17).'),
    kill: toggle('Loses an answer, kills the worker half-way (kill -9) and starts another. Only with a real Kafka.'),
    keep: toggle('Keeps running until it is interrupted, and prints the addresses, the page first.'),
    json: toggle('Prints the summary as one JSON object.'),
  },
  async run({ count: total = defaultCount, kafka = false, kill = false, keep = false, json = false }) {
    if (kill && !kafka && !brokersAreNamed()) {
      throw new UsageError('--kill needs a real Kafka, because it kills a separate process: add --kafka')
    }
    const progress = createProgress(process.stderr)
    const cleanups: Cleanups = []
    const interruption = new AbortController()
    const stopAsked = untilSignal().then(() => interruption.abort())
    const interrupted = interruption.signal
    const show = showDemo({ total, kafka, kill, keep, json, interrupted }, progress, cleanups)
    let code = 130
    const keeping = show.then(async ok => {
      code = ok ? 0 : 1
      if (keep) await stopAsked
    })
    try {
      await Promise.race([keeping, stopAsked])
      return code
    } finally {
      progress.stop()
      for (const cleanup of cleanups.toReversed()) await within(cleanupMs, 'the end', cleanup()).catch(() => {})
    }
  },
})

/** @returns whether everything was as promised */
async function showDemo(options: DemoOptions, progress: ProgressDisplay, cleanups: Cleanups): Promise<boolean> {
  const { total, kafka, kill, keep, json, interrupted } = options
  const folder = await mkdtemp(join(tmpdir(), 'busgate-demo-'))
  let ok = true
  cleanups.push(async () => ok && rm(folder, { recursive: true, force: true }))

  const stage = await setStage({ count: total, kafka, folder, say: progress.say, cleanups })
  interrupted.throwIfAborted()
  const page = keep ? await startPage(stage, cleanups) : ''
  progress.say(`Ready. ${grouped(total)} commands of all eleven types:`)
  const started = performance.now()
  await play(stage, { total, kill }, progress)
  interrupted.throwIfAborted()
  const seconds = (stage.audit.lastAt - started) / 1000
  if (!keep) await stage.worker.stop()
  const reckoning = reckon(total, stage.audit, stage.sandbox)
  ok = reckoning.ok
  process.stdout.write(json ? `${JSON.stringify({ ...reckoning, seconds })}\n` : `\n${summaryText(reckoning)}\n`)
  progress.say(`${grouped(total)} commands in ${seconds.toFixed(1)} s.`)
  if (!ok) progress.say(`A promise was broken. The worker's log: ${stage.logFile}`)
  if (!keep) return ok
  progress.say(`\n${addressesOf(stage, page)}\nMore commands are sent. Ctrl-C ends.`)
  const going = goOn(stage, total, interrupted)
  cleanups.push(() => going)
  return ok
}

/** Everything in the demo is made up, so that texts and phones may be shown. @returns its address */
async function startPage({ bus, registry, demo: { settings } }: RunningDemo, cleanups: Cleanups): Promise<string> {
  const page = await startUi({ bus, registry, settings, port: 0, show: true })
  cleanups.push(() => page.close())
  await page.begun()
  return page.url
}
