import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { shellFlag } from '../../shell.ts'
import { startUi } from '../../ui/server.ts'
import { grouped, listOf, summaryText } from '../demo/audit.ts'
import { commandOf, silentOf } from '../demo/scenario.ts'
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
  /** Aborts what is under way. */
  interrupted: AbortSignal
}

export const demo = command({
  about: [
    'Runs everything on this machine: commands of every type on a bus, the real worker and',
    "callback receiver, a gateway simulator. Then compares the topics with the gateway's counts; exits 1 if a",
    'command has no result or two, was billed twice, or a status is missing.',
    '',
    'With BUSGATE_KAFKA_BROKERS and BUSGATE_REGISTRY_URL it uses that Kafka, and leaves its topics busgate-demo-… there.',
    'Without them, the bus is inside this process.',
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

/** @returns whether all promises were kept */
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
  if (!keep) await stage.worker.close()
  const report = stage.audit.report(stage.sandbox)
  ok = report.ok
  process.stdout.write(json ? `${JSON.stringify({ ...report, seconds })}\n` : `\n${summaryText(report)}\n`)
  say(`${grouped(total)} commands in ${seconds.toFixed(1)} s.`)
  if (!ok) say(`A promise was broken. The worker's log: ${stage.logFile}`)
  if (!keep) return ok
  say(`\n${addressesOf(stage, page)}\nMore commands are sent. Ctrl-C ends.`)
  const going = goOn(stage, total, interrupted)
  cleanups.push(() => going)
  return ok
}

/** Starts the page. It shows texts and phones, since all demo data is made up. @returns its URL */
async function startPage(demo: RunningDemo, cleanups: Cleanups): Promise<string> {
  const { bus, registry, settings, settingsFile } = demo
  const commandFlags = Array.isArray(settings.kafka.brokers) ? shellFlag('config', settingsFile) : null
  const page = await startUi({ bus, registry, settings, port: 0, reveal: true, commandFlags })
  cleanups.push(() => page.close())
  await page.begun()
  return page.url
}

const batchSize = 500
const pollMs = 20
const progressMs = 1000
const stalledMs = 30_000
/** Wait for a possible second result of a command. */
const quietMs = 1000

/** Produces the commands. Resolves when all their results and statuses are on the topics, or nothing arrives any more. */
export async function play(stage: RunningDemo, total: number, say: (line: string) => void): Promise<void> {
  const { audit, sandbox, producer, worker } = stage
  let produced = 0
  const showProgress = () => {
    const { outcomes, states } = audit.total
    const toGateway = `envelopes ${grouped(sandbox.stats().requests)} to the gateway`
    say(`  commands ${grouped(produced)} in; ${toGateway}; results ${listOf(outcomes)}; statuses ${listOf(states)}`)
  }

  async function produce(): Promise<void> {
    while (produced < total) {
      const size = Math.min(batchSize, total - produced)
      await producer.send(Array.from({ length: size }, (_, i) => commandOf(produced + i)))
      produced += size
    }
  }

  async function untilComplete(): Promise<void> {
    let last = audit.lastAt
    while (
      audit.finished < total ||
      sandbox.stats().callbacks.pending > 0 ||
      audit.report(sandbox).statuses.missing > 0
    ) {
      last = Math.max(last, audit.lastAt)
      if (performance.now() - last > stalledMs) return
      await setTimeout(pollMs)
    }
  }

  const progress = setInterval(showProgress, progressMs)
  try {
    await Promise.race([Promise.all([produce(), untilComplete()]), worker.failed])
    while (performance.now() - audit.lastAt < quietMs) await setTimeout(pollMs)
    showProgress()
  } finally {
    clearInterval(progress)
  }
}

const turnMs = 500
/** Turns between two lost answers of the gateway. */
const lossTurns = 40

/**
 * Keeps the page busy after the table: some commands a second, now and then a lost answer without a callback, and one
 * unreadable record. Resolves when interrupted; errors are in the worker's log.
 */
export async function goOn(stage: RunningDemo, first: number, interrupted: AbortSignal): Promise<void> {
  try {
    await writeNonsense(stage)
    let next = first
    for (let turn = 0; ; turn++) {
      const isLost = turn % lossTurns === 0
      if (isLost) stage.sandbox.faults.next('reset-after')
      const size = isLost ? 1 : 1 + (turn % 5)
      await stage.producer.send(Array.from({ length: size }, (_, i) => (isLost ? silentOf(next) : commandOf(next + i))))
      next += size
      await setTimeout(turnMs, undefined, { signal: interrupted })
    }
  } catch {
    // interrupted, or the bus is closed
  }
}

/** Writes a record that becomes a dead letter. */
async function writeNonsense({ bus, settings }: RunningDemo): Promise<void> {
  const publisher = await bus.publisher()
  const topic = settings.topics.commands.at(-1)!
  await publisher.publish([{ topic, key: Buffer.from('order-0'), value: Buffer.from('{"id": "this is no Avro"}') }])
  await publisher.close()
}
