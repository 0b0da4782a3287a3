import { z } from 'zod'
import type { Bus, OutgoingRecord } from '../bus/port.ts'
import { scanTopic } from '../bus/scan.ts'
import type { Settings } from '../config/index.ts'
import { count, timeText } from '../words.ts'
import { type Change, changeText, cutText, longestText, nameOf, readChange } from './change.ts'

/*
 * Who did what, when and why: pauses, resumes, withdrawals and replays. The control topic is compacted, so it holds only the last
 * change of each scope; the history topic holds them all, for as long as results. A change has the same bytes on both.
 */

/** Dead letters were written back to their topics. */
export interface Replay {
  effect: 'replayed'
  /** Topic of the dead letters. */
  name: string
  letters: number
  by: string
  /** Milliseconds since 1970. */
  at: number
  reason: string
}

export type Deed = Change | Replay

const replayPrefix = 'replayed/'
const text = z.string().transform(cutText)
const replayBody = z.object({
  replayed: z.number().int().min(1),
  by: text,
  at: z.iso.datetime({ offset: true }).transform(at => Date.parse(at)),
  reason: text,
})

/** The records of changes, as they are on the control topic, for the history topic. Tombstones are no deeds. */
export const historyOf = (topic: string, changes: readonly OutgoingRecord[]): OutgoingRecord[] =>
  changes.filter(({ value }) => value !== null).map(({ key, value }) => ({ topic, key, value }))

/** @throws Error when a text is too long */
export function replayRecord(topic: string, { name, letters, by, at, reason }: Replay): OutgoingRecord {
  if (by.length > longestText || reason.length > longestText)
    throw new Error(`the reason, and the name of who gives it, may have at most ${longestText} characters each`)
  const value = { replayed: letters, by, at: new Date(at).toISOString(), reason }
  return { topic, key: Buffer.from(`${replayPrefix}${name}`), value: Buffer.from(JSON.stringify(value)) }
}

/** Most deeds that are shown. */
const mostDeeds = 10_000

export interface History {
  /** The newest deeds, some 10,000, in the order of the topic's one partition. */
  deeds: readonly Deed[]
  /** Number of records that are none. */
  foreign: number
}

/** @throws Error that says why the topic cannot be read; the signal's reason */
export async function readHistory(bus: Bus, { topics }: Settings, ending?: AbortSignal): Promise<History> {
  const deeds: Deed[] = []
  let foreign = 0
  await scanTopic(
    bus,
    topics.history,
    (_, records) => {
      for (const record of records) {
        const deed = readDeed(record)
        if (deed === null) foreign++
        else deeds.push(deed)
      }
      if (deeds.length > mostDeeds) deeds.splice(0, deeds.length - mostDeeds)
    },
    ending && { ending },
  )
  return { deeds, foreign }
}

/** Null if the record is no deed: producers may write on the topic. */
function readDeed(record: Parameters<typeof readChange>[0]): Deed | null {
  try {
    const key = record.key?.toString() ?? ''
    if (!key.startsWith(replayPrefix)) return record.value === null ? null : readChange(record)
    const { replayed: letters, ...stamp } = replayBody.parse(JSON.parse(String(record.value)))
    return { effect: 'replayed', name: cutText(key.slice(replayPrefix.length)), letters, ...stamp }
  } catch {
    return null
  }
}

/** A deed in one line. */
export function deedText(deed: Deed): string {
  if (deed.effect === 'replayed') {
    const { letters, name, by, at, reason } = deed
    return `${count(letters, 'dead letter')} of ${name} ${letters === 1 ? 'was' : 'were'} replayed by ${by} ${timeText(at, 'at')}: ${reason}`
  }
  if (deed.begins) return changeText(deed)
  const ended = deed.effect === 'paused' ? 'was resumed' : 'is no longer withdrawn,'
  return `${nameOf(deed)} ${ended} by ${deed.by} ${timeText(deed.at, 'at')}`
}
