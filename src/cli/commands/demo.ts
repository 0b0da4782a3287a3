import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startUi } from '../../ui/server.ts'
import { grouped, summaryText } from '../demo/audit.ts'
import { goOn, play } from '../demo/play.ts'
import { addressesOf, type RunningDemo, setStage } from '../demo/stage.ts'
import { command, toggle, whole } from '../framework/command.ts'
import { untilSignal, within } from '../framework/terminal.ts'

const defaultCount = 1000
const cleanupMs = 10_000

type Cleanups = (() => Promise<unknown>)[]

interface DemoOptions {
  total: number
  keep: boolean
  json: boolean
  /** Interrupted: whatever is under way is given up. */
  interrupted: AbortSignal
}

export const demo = command({
  about: [
    'Runs everything on this machine: commands of every type on a bus, the real worker and',
    "callback receiver, a gateway simulator. Then compares the topics with the gateway's counts; exits 1 if a",
    'command has no result or two, was billed twice, or a status is missing.',
    '',
    'The bus is inside this process, or the Kafka that BUSGATE_KAFKA_BROKERS and BUSGATE_REGISTRY_URL name;',
    'on that one the topics busgate-demo-… remain.',
  ].join('\n'),
  flags: {
    count: whole('N', `How many commands. Default: ${defaultCount}.`, 1, 1_000_000),
    keep: toggle('Keeps running until it is interrupted, and prints the addresses, the page first.'),
    json: toggle('Prints the summary as one JSON object.'),
  },
  async run({ count: total = defaultCount, keep = false, json = false }) {
    const cleanups: Cleanups = []
    const interruption = new AbortController()
    const stopAsked = untilSignal().then(() => interruption.abort())
    const show = showDemo({ total, keep, json, interrupted: interruption.signal }, cleanups)
    let code = 130
    const keeping = show.then(async ok => {
      code = ok ? 0 : 1
      if (keep) await stopAsked
    })
    try {
      await Promise.race([keeping, stopAsked])
      return code
    } finally {
      for (const cleanup of cleanups.toReversed()) await within(cleanupMs, 'the end', cleanup()).catch(() => {})
    }
  },
})

const say = (line: string) => process.stderr.write(`${line}\n`)

/** @returns whether everything was as promised */
async function showDemo({ total, keep, json, interrupted }: DemoOptions, cleanups: Cleanups): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'busgate-demo-'))
  let ok = true
  cleanups.push(async () => ok && rm(folder, { recursive: true, force: true }))

  const stage = await setStage({ count: total, folder, say, cleanups })
  interrupted.throwIfAborted()
  const page = keep ? await startPage(stage, cleanups) : ''
  say(`Ready. ${grouped(total)} commands of every type:`)
  const started = performance.now()
  await play(stage, total, say)
  interrupted.throwIfAborted()
  const seconds = (stage.audit.lastAt - started) / 1000
  if (!keep) await stage.worker.stop()
  const reckoning = stage.audit.reckon(stage.sandbox)
  ok = reckoning.ok
  process.stdout.write(json ? `${JSON.stringify({ ...reckoning, seconds })}\n` : `\n${summaryText(reckoning)}\n`)
  say(`${grouped(total)} commands in ${seconds.toFixed(1)} s.`)
  if (!ok) say(`A promise was broken. The worker's log: ${stage.logFile}`)
  if (!keep) return ok
  say(`\n${addressesOf(stage, page)}\nMore commands are sent. Ctrl-C ends.`)
  const going = goOn(stage, total, interrupted)
  cleanups.push(() => going)
  return ok
}

/** Everything in the demo is made up, so that texts and phones may be shown. @returns its address */
async function startPage({ bus, registry, settings }: RunningDemo, cleanups: Cleanups): Promise<string> {
  const page = await startUi({ bus, registry, settings, port: 0, show: true })
  cleanups.push(() => page.close())
  await page.begun()
  return page.url
}
