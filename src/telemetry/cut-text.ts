import type { Events } from './events.ts'

/** Longest list of offsets in a line's text; its fields have all. */
const longestOffsets = 200

function listed(offsets: string): string {
  if (offsets.length <= longestOffsets) return offsets
  const kept = offsets.slice(0, offsets.lastIndexOf(',', longestOffsets))
  return `${kept} and ${offsets.slice(kept.length).split(',').length - 1} more ranges`
}

/** A number that is exact, or with an upper bound of others. */
const about = (exact: number, atMost: number): string =>
  [...(exact > 0 || atMost === 0 ? [String(exact)] : []), ...(atMost > 0 ? [`at most ${atMost}`] : [])].join(' and ')

/** Says what a log lost, and what that means for its commands. */
export function cutText({ topic, partition, recordsOf, end, anew, ...counts }: Events['log.cut']): string {
  const { unsent, unread, unsentOffsets, perhapsSent, unchecked, perhapsSentOffsets } = counts
  const place = `${topic}/${partition}`
  const cut = end
    ? `the log of ${place} ends at offset ${end.from}, but had been processed up to ${end.to}`
    : anew
      ? `${place} was lost with its topic, which was deleted and made anew`
      : `the log of ${place} lost its beginning`
  const all = [unsentOffsets, perhapsSentOffsets].filter(Boolean).join(', ')
  if (all === '') return `${cut}: all that is known to be lost had been done`
  if (recordsOf !== 'commands') {
    const number = about(unsent + perhapsSent, unread + unchecked)
    return recordsOf === 'doubts'
      ? `${cut}: ${number} doubts (${listed(all)}), whose commands were perhaps sent: they end UNRESOLVED`
      : `${cut}: ${number} records (${listed(all)}), whose messages get no final status unless a callback brings it`
  }
  const parts = [
    ...(unsentOffsets ? [`${about(unsent, unread)} commands not sent (${listed(unsentOffsets)})`] : []),
    ...(perhapsSentOffsets ? [`${about(perhapsSent, unchecked)} perhaps sent (${listed(perhapsSentOffsets)})`] : []),
  ]
  return `${cut}: ${parts.join(', ')}`
}
