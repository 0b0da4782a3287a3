import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parseJson } from '../../protocol/index.ts'
import { parseQuietly } from '../../protocol/json.ts'
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
  try {
    return [parseQuietly(line, `standard input: line ${i + 1} is not valid JSON`)]
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Undefined when it is no JSON. */
function parsed(json: string): unknown {
  try {
    return parseJson(json)
  } catch {
    return undefined
  }
}
