import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPrometheus } from './prometheus.ts'
import { impatientRules } from './rules.ts'
import { type Run, startRun } from './run.ts'

type Prometheus = Awaited<ReturnType<typeof startPrometheus>>

/** Runs busgate and a real Prometheus whose alerts fire within seconds. Ends the process after `main`. */
export async function watched(main: (run: Run, prometheus: Prometheus) => Promise<void>): Promise<never> {
  const work = mkdtempSync(join(tmpdir(), 'busgate-watched-'))
  const cleanups: (() => unknown)[] = [() => rmSync(work, { recursive: true })]
  try {
    const run = await startRun()
    cleanups.push(run.stop)
    const prometheus = await startPrometheus(work, run.targets, impatientRules(run.settings.topics.commands[0]!))
    cleanups.push(prometheus.stop)
    await main(run, prometheus)
  } finally {
    for (const end of cleanups.reverse()) await end()
  }
  process.exit() // a Kafka client may keep a connection open
}
