import { hash } from 'node:crypto'
import type { Bus } from '../bus/port.ts'
import { scanTopic } from '../bus/scan.ts'
import type { Settings } from '../config/index.ts'
import { keyText, type LaterFacts, type LaterKey, readLater } from '../records/later.ts'

/** A map has room for 16 million. */
const mostCounted = 10_000_000

/** Commands of a group that wait. */
export interface WaitingGroup<G> {
  group: G
  commands: number
}

/**
 * Counts the commands that wait on the table, by group, from its beginning: a few bytes a command are kept. Released ones are on
 * their command topics.
 * @param groupOf null: the command is not counted; the same object for each command of a group
 */
export async function countWaiting<G>(
  bus: Bus,
  { topics }: Settings,
  groupOf: (facts: LaterFacts, key: LaterKey) => WaitingGroup<G> | null,
  ending: AbortSignal,
): Promise<void> {
  if ((await bus.lookAt(topics.later)) === null) return
  const waiting = new Map<number, WaitingGroup<G>>()
  await scanTopic(
    bus,
    topics.later,
    (_, records) => {
      for (const record of records) {
        const entry = readLater(record)
        if (!entry) continue
        const digest = digestOf(keyText(entry.key))
        const known = waiting.get(digest)
        if (known) {
          waiting.delete(digest)
          known.commands--
        }
        const { state, facts } = entry
        const group = state === 'over' || state === 'released' ? null : groupOf(facts, entry.key)
        if (!group || waiting.size >= mostCounted) continue
        waiting.set(digest, group)
        group.commands++
      }
    },
    { ending },
  )
}

/** 48 bits, which a number holds. */
const digestOf = (key: string): number => hash('sha1', key, 'buffer').readUIntBE(0, 6)

/** When commands are due, and of which campaign they are. */
export interface DueHour {
  /** Begin of the hour, milliseconds since 1970; null: they are due, so that a pause holds them, or their worker is about to send. */
  hour: number | null
  /** Null: of none; undefined: of several, as there are too many to tell apart. */
  campaign: string | null | undefined
}

const hourMs = 3_600_000
/** Most hours and campaigns that are told apart: anybody may name campaigns. */
const mostGroups = 10_000

/** How many commands wait, by hour and campaign, the next hour first. */
export async function waitingByHour(
  bus: Bus,
  settings: Settings,
  ending: AbortSignal,
  now = Date.now(),
): Promise<WaitingGroup<DueHour>[]> {
  const groups = new Map<string, WaitingGroup<DueHour>>()
  await countWaiting<DueHour>(
    bus,
    settings,
    ({ notBefore, campaign }) => {
      const hour = notBefore === null || notBefore <= now ? null : Math.floor(notBefore / hourMs) * hourMs
      const known = groups.get(nameOf(hour, campaign))
      if (known) return known
      const group = { hour, campaign: groups.size < mostGroups ? campaign : undefined }
      const name = nameOf(hour, group.campaign)
      const added = groups.get(name) ?? { group, commands: 0 }
      groups.set(name, added)
      return added
    },
    ending,
  )
  return [...groups.values()]
    .filter(({ commands }) => commands > 0)
    .sort((a, b) => (a.group.hour ?? 0) - (b.group.hour ?? 0) || b.commands - a.commands)
}

const nameOf = (hour: number | null, campaign: string | null | undefined) => JSON.stringify([hour, campaign])
