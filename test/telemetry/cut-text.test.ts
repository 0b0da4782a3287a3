import { expect, test } from 'vitest'
import { cutText } from '../../src/telemetry/cut-text.ts'
import { buildEvents } from '../support/events.ts'

const nothing = { ...buildEvents(1)['log.cut'], unsent: 0, unsentOffsets: '', perhapsSent: 0, perhapsSentOffsets: '' }
const cut = 'the log of busgate.commands/1 lost its beginning'

test.each([
  [{ unsent: 3, unsentOffsets: '0-2' }, `${cut}: 3 commands not sent (0-2)`],
  [{ unsent: 3, unread: 2, unsentOffsets: '0-4' }, `${cut}: 3 and at most 2 commands not sent (0-4)`],
  [{ unread: 2, unsentOffsets: '3-4' }, `${cut}: at most 2 commands not sent (3-4)`],
  [
    { unsent: 1, unsentOffsets: '0', perhapsSent: 2, unchecked: 4, perhapsSentOffsets: '1-6' },
    `${cut}: 1 commands not sent (0), 2 and at most 4 perhaps sent (1-6)`,
  ],
  [
    { recordsOf: 'doubts', unsent: 2, unsentOffsets: '4-5' } as const,
    `${cut}: 2 doubts (4-5), whose commands were perhaps sent: they end UNRESOLVED`,
  ],
  [
    { recordsOf: 'messages', unread: 300, unsentOffsets: '0-299' } as const,
    `${cut}: at most 300 records (0-299), whose messages get no final status unless a callback brings it`,
  ],
  [
    { anew: true, unread: 2, unsentOffsets: '3-4' },
    'busgate.commands/1 was lost with its topic, which was deleted and made anew: at most 2 commands not sent (3-4)',
  ],
  [
    { end: { from: 3, to: 9 } },
    'the log of busgate.commands/1 ends at offset 3, but had been processed up to 9: all that is known to be lost had been done',
  ],
])('the line about a log that was cut says what is known of its records, and no more: %o', (known, text) => {
  expect(cutText({ ...nothing, ...known })).toBe(text)
})

test('the line lists some ranges of a long list, and counts the others', () => {
  const ranges = Array.from({ length: 50 }, (_, i) => `${1000 + 10 * i}-${1001 + 10 * i}`)
  const text = cutText({ ...nothing, unsent: 100, unsentOffsets: ranges.join(', ') })
  const [, listed, more] = text.match(/\((.*) and (\d+) more ranges\)/)!
  expect(listed!.split(', ').length + Number(more)).toBe(50)
})
