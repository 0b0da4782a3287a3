import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'

const script = readFileSync(new URL('../../helm/probes/probe.js', import.meta.url), 'utf8')

/** Runs the chart's start-up or readiness probe as the kubelet does, which shows `output` in the pod's events. */
export function probe(port: number, asked: 'started' | 'ready'): Promise<{ passes: boolean; output: string }> {
  return new Promise(resolve =>
    execFile(process.execPath, ['-e', script, String(port), asked], (error, stdout, stderr) =>
      resolve({ passes: error === null, output: stdout + stderr }),
    ),
  )
}
