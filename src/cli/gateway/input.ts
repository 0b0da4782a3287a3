import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parseJson } from '../../protocol/index.ts'
import { UsageError } from '../framework/usage-error.ts'

/**
 * Operations from standard input: a JSON object, an array of them, or an object a line.
 * @param missing what to say when there is none
 * @throws UsageError; AbortError when the signal ends it
 */
export async function readOperations(missing: string, signal: AbortSignal): Promise<unknown[]> {
  if (process.stdin.isTTY) throw new UsageError(missing)
  const given = (await text(addAbortSignal(signal, process.stdin))).trim()
  if (given === '') throw new UsageError(missing)
  const whole = parsed(given)
  if (whole === undefined) return given.split('\n').flatMap(ofLine)
  return Array.isArray(whole) ? whole : [whole]
}

function ofLine(line: string, i: number): unknown[] {
  if (line.trim() === '') return []
  const operation = parsed(line)
  if (operation === undefined) throw new UsageError(`standard input: line ${i + 1} is not valid JSON`)
  return [operation]
}

/** Undefined when it is no JSON. The error itself would quote the input. */
function parsed(json: string): unknown {
  try {
    return parseJson(json)
  } catch {
    return undefined
  }
}
