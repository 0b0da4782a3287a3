import { setTimeout } from 'node:timers/promises'
import { commandOf } from '../../../src/cli/demo/scenario.ts'
import type { FaultName } from '../../../src/sandbox/index.ts'
import type { Run } from './run.ts'

/** Commands a second, sent ten times a second. */
const pace = 150
/** More commands than the rate allows in some seconds. */
const burst = 6000

type Trouble = (run: Run, seconds: number) => unknown

const fault =
  (name: FaultName, count: number): Trouble =>
  ({ sandbox }) =>
    sandbox.faults.next(name, count)

/** The faults, each with its time as a fraction of the run, that give every panel something to show. */
const troubles: readonly (readonly [at: number, what: Trouble])[] = [
  [0.08, fault('reset-after', 3)],
  [0.12, fault('http-502', 2)],
  [0.16, fault('stall', 3)],
  [0.2, fault('http-429', 8)],
  [0.24, fault('envelope-refused', 2)],
  [0.26, fault('http-429', 8)], // requests that are refused at once change no rate: here others are, soon after
  [0.28, fault('reset-before', 3)],
  [0.34, refuseKey],
  [0.46, (run, seconds) => run.pauseBulk(seconds * 60)],
  [0.52, ({ producer }) => producer.send(Array.from({ length: burst }, (_, i) => ordinary(1_000_000 + i)))],
  [0.74, fault('truncated-json', 2)],
  [0.78, fault('fewer-items', 2)],
  [0.8, (run, seconds) => run.restartSecond(seconds * 50)],
]

/** Sends commands of every kind for some seconds, and causes the faults. */
export async function drive(run: Run, seconds: number): Promise<void> {
  const started = performance.now()
  const elapsed = () => (performance.now() - started) / 1000
  const pending = [...troubles]
  const happening: unknown[] = []
  let sent = 0
  while (elapsed() < seconds) {
    while (pending[0] && elapsed() > pending[0][0] * seconds) happening.push(pending.shift()![1](run, seconds))
    const due = Math.floor(elapsed() * pace)
    if (due > sent) await run.producer.send(Array.from({ length: due - sent }, (_, i) => special(sent + i)))
    if (Math.floor(due / pace) > Math.floor(sent / pace)) await disturb(run, due)
    sent = due
    await setTimeout(100)
  }
  await Promise.all(happening)
}

/** Makes commands as the demo does: every type, with each of the gateway's answers. One in five is AT_MOST_ONCE. */
const ordinary = (index: number) => ({
  ...commandOf(index + 501), // 500 is throttled in the demo
  delivery: index % 5 === 0 ? ('AT_MOST_ONCE' as const) : ('DEFAULT' as const),
})

/**
 * Makes some commands that are soon too late, if anything holds them up, some to a country that the worker does not send to, and
 * some with a correlation too long for their hook address.
 */
function special(index: number): ReturnType<typeof ordinary> {
  const command = ordinary(index)
  if (index % 100 === 7) return { ...command, deadline: Date.now() + 800 }
  if (index % 100 === 11) return { ...command, phone: 48_512_345_678 }
  return index % 100 === 9 ? { ...command, correlationId: 'a long one '.repeat(30) } : command
}

/** Writes an invalid record and an invalid callback. Called once a second. */
async function disturb({ settings, spoil, strangersUrl }: Run, number: number): Promise<void> {
  await spoil(Buffer.from(number % 2 ? 'not Avro' : '\0\0\0\xff\xff of an unknown schema', 'latin1'))
  const { publicUrl } = settings.callbacks
  const hook = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"success":true}' }
  const addresses = [`${publicUrl}/hooks/AAAA`, strangersUrl]
  await Promise.all([fetch(`${publicUrl}/hooks`), ...addresses.map(url => fetch(url, hook))])
}

/** Makes the gateway refuse the key, as after an unannounced rotation. */
async function refuseKey({ sandbox }: Run, seconds: number): Promise<void> {
  sandbox.setKeys({ default: 'another-key' })
  await setTimeout(seconds * 100)
  sandbox.setKeys({ default: 'sandbox-key' })
}
