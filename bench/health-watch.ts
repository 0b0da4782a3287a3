import { setTimeout } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/*
 * A thread that polls an address, each time over a new connection, until it is told to stop; it then tells the milliseconds
 * of the slowest answer. The thread of the benchmark is busy with the attack, and would measure its own turns.
 */

const everyMs = 50

let slowest = 0
let isOver = false
const asks: Promise<void>[] = []
parentPort!.once('message', () => {
  isOver = true
})
while (!isOver) {
  const begun = performance.now()
  const ask = fetch(workerData, { headers: { connection: 'close' } })
    .then(answer => answer.arrayBuffer())
    .catch(() => {})
    .then(() => {
      slowest = Math.max(slowest, performance.now() - begun)
    })
  asks.push(ask)
  await setTimeout(everyMs)
}
await Promise.all(asks)
parentPort!.postMessage(slowest)
