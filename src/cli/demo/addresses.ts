import { topicsOf } from './settings.ts'
import type { RunningDemo } from './stage.ts'

/** Tells where everything is, for a look around. @param page the address of the page that shows it */
export function addressesOf({ demo, sandbox, logFile }: RunningDemo, page: string): string {
  const { kafka, registry, callbacks, telemetry } = demo.settings
  const embedded = 'in this process: no other one can reach it'
  const rows = [
    ['page', `${page} (open it in a browser: what goes on, and what became of each message)`],
    ['gateway', `${sandbox.url} (counts at /_stats, requests at /_log)`],
    ['receiver', callbacks.publicUrl],
    ['metrics', `http://${telemetry.host}:${telemetry.port}/metrics`],
    ['brokers', Array.isArray(kafka.brokers) ? kafka.brokers.join(',') : embedded],
    ['registry', registry.url ?? embedded],
    ['topics', topicsOf(demo.settings).join('\n            ')],
    ['log', logFile],
    ['settings', `${demo.file} (for example: busgate tail results --config ${demo.file})`],
  ]
  return rows.map(([name, address]) => `  ${name!.padEnd(10)}${address}`).join('\n')
}
