import './framework/kafkajs-warning.ts'
import { runLine } from './run-line.ts'

process.report.excludeEnv = true // a diagnostic report is readable by all, and variables may hold secrets

/** Longest time that the process waits for resources that a library left open, such as a connection's timer. */
const lingerMs = 1000

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0) // the reader has closed the pipe, as `head` does
  throw error
})

process.exitCode = await runLine(process.argv.slice(2))
setTimeout(() => process.exit(), lingerMs).unref()
