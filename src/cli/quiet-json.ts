import { parseJson } from '../protocol/index.ts'

/** @throws Error with the complaint alone: that of JSON.parse quotes what it was given, which may be somebody's message */
export function parseQuietly(text: string, complaint: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new Error(complaint)
  }
}
