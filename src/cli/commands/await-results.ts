import type { Bus } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { waitForResult } from '../../consumer/index.ts'
import type { NewCommand } from '../../producer.ts'
import { count } from '../../words.ts'
import { printLine, say } from '../framework/terminal.ts'
import { printedResult } from './tail.ts'

interface Waiting {
  bus: Bus
  settings: Settings
  /** Before the first command was written, milliseconds since 1970. */
  since: number
  ending: AbortSignal
  limitMs?: number
  asJson: boolean | undefined
}

const usualLimitMs = 10 * 60_000
/** Most messages without a result that are told one by one. */
const mostTold = 20

/** Prints the final result of each message as it comes. @returns whether all were sent */
export async function awaitResults(commands: readonly NewCommand[], waiting: Waiting): Promise<boolean> {
  const { bus, settings, since, ending, limitMs = usualLimitMs, asJson } = waiting
  const signal = AbortSignal.any([ending, AbortSignal.timeout(limitMs)])
  const messages = new Map(commands.map(({ id, account = 'default' }) => [`${account}/${id}`, { id, account }]))
  let sent = 0
  let open = 0
  const printResult = async ({ id, account }: { id: bigint | number; account: string }) => {
    const result = await waitForResult(settings, id, { account, bus, since: new Date(since), signal })
    if (result.outcome === 'SENT') sent++
    await printLine(printedResult(result, asJson))
  }
  const sayOpen = (error: Error) => {
    if (error.name !== 'TimeoutError') throw error
    if (++open <= mostTold) say(error.message)
  }
  await Promise.all([...messages.values()].map(message => printResult(message).catch(sayOpen)))
  say(`${sent} of ${count(messages.size, 'message')} SENT${open > 0 ? `, ${open} without a final result` : ''}.`)
  return sent === messages.size
}
