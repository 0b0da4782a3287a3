import { writeSync } from 'node:fs'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

/** Bound of one case, with the oracle's answer, on a busy machine. */
const stalledMs = 120_000

interface Watched {
  /** Number of the current case. */
  current: Int32Array
  /** What to say of the case, without its number. */
  repeat: string
  seed: number
}

/** Watches from its own thread, since a case that never ends blocks the main one: it then names the seed and ends the process. */
export class Watchdog {
  readonly #current = new Int32Array(new SharedArrayBuffer(4))
  readonly #worker: Worker

  constructor(repeat: string, seed: number) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { current: this.#current, repeat, seed } })
    this.#worker.unref()
  }

  next(): void {
    Atomics.add(this.#current, 0, 1)
  }

  stop(): void {
    void this.#worker.terminate()
  }
}

function watch({ current, repeat, seed }: Watched): void {
  let seen = 0
  setInterval(() => {
    const now = Atomics.load(current, 0)
    if (now === seen) {
      writeSync(2, `seed ${seed + now} does not end\nrepeat it with: ${repeat} --seed ${seed + now} --seconds 0\n`)
      process.kill(process.pid, 'SIGKILL')
    }
    seen = now
  }, stalledMs)
}

if (!isMainThread) watch(workerData)
