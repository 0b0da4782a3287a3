import type { CommandHandle } from '../../producer.ts'
import { count } from '../../words.ts'
import { printLine, say } from '../framework/terminal.ts'
import { printedResult } from './tail.ts'

interface Waiting {
  ending: AbortSignal
  limitMs?: number
  asJson: boolean | undefined
}

/** After the last one is due. */
const usualLimitMs = 10 * 60_000
const longestTimerMs = 2 ** 31 - 1
/** Most messages without a result that are told one by one. */
const mostTold = 20

/** Prints the final result of each message as it comes. @returns whether all were sent */
export async function awaitResults(commands: readonly CommandHandle[], waiting: Waiting): Promise<boolean> {
  const now = Date.now()
  const due = commands.reduce((last, { notBefore }) => Math.max(last, notBefore ?? 0), now)
  const { ending, limitMs = Math.min(due - now + usualLimitMs, longestTimerMs), asJson } = waiting
  const signal = AbortSignal.any([ending, AbortSignal.timeout(limitMs)])
  const messages = new Map(commands.map(command => [`${command.account}/${command.id}`, command]))
  let sent = 0
  let open = 0
  const printResult = async (command: CommandHandle) => {
    const result = await command.result({ signal })
    if (result.outcome === 'SENT') sent++
    await printLine(printedResult(result, asJson))
  }
  const sayOpen = (error: Error) => {
    if (error.name !== 'TimeoutError' && error.name !== 'DeadLetterError') throw error
    if (++open <= mostTold) say(error.message)
  }
  await Promise.all([...messages.values()].map(command => printResult(command).catch(sayOpen)))
  say(`${sent} of ${count(messages.size, 'message')} SENT${open > 0 ? `, ${open} without a final result` : ''}.`)
  return sent === messages.size
}
