import { expect, test } from 'vitest'
import { buildLog, buildOwner, type OwnerOptions, type PartitionLog } from '../support/sessions.ts'

/** A log of ten records, from which the first three were deleted. */
function logOfTen(some: Partial<PartitionLog> = {}): PartitionLog {
  const log = buildLog(10)
  log.cut(3)
  return Object.assign(log, some)
}

const of = (offset: number, metadata: string | null = null) => ({ committed: { offset, metadata } })
/** The checkpoint of a process, without unfinished offsets. */
const by = (tag: string, offset: number) => of(offset, `1;${tag};8;;0;0;${offset}`)
const known = (of: object = {}) => ({ known: { foundSeq: 0, confirmed: null, lastEnd: 0, ...of } })

type Lost = { kind: string; first: number; last: number }
const cutTo = (lost: Lost[], more: object = {}) => ({ lost, told: [{ ranges: lost, ...more }] })

/** What a process knows that found a whole window, and all that may have been sent. */
const whole = {
  position: 5,
  forgotten: null,
  unchecked: 0,
  foreign: null,
  stale: false,
  isNew: false,
  lost: [],
  told: [],
}
/** Nobody has told what was sent of the records that are there. */
const unknown = { ...whole, position: 3, unchecked: 10, isNew: true }
const forgotten = (until: number, owned = true) => ({ forgotten: { until, owned } })
/** 8: intent, 9: new, 10: intent, 11: new, 12: done. */
const unfinished = of(8, '1;other;8;EQI=;0;0;8')
const own = (offset: number, seq: number) => ({ confirmed: of(offset, `1;this process;${seq};`).committed })

test.each<[string, Partial<PartitionLog>, OwnerOptions, object]>([
  ['nothing', {}, {}, { ...unknown, ...forgotten(10, false) }],
  [
    'nothing, and starts at the end',
    {},
    { startAt: () => 10 },
    { ...unknown, ...forgotten(10, false), position: 10, unchecked: 0 },
  ],
  [
    'nothing, but knows the results',
    {},
    { startAt: () => 10, readsAll: true },
    { ...unknown, ...forgotten(10, false) },
  ],
  ['the offset of another program', of(5), {}, { ...unknown, ...forgotten(10), position: 5, foreign: 5, isNew: false }],
  [
    'the offset of another program, but knows the results',
    of(5, ''),
    { readsAll: true },
    { ...unknown, ...forgotten(10) },
  ],
  [
    'the offset of another program before the beginning of the log',
    of(1),
    {},
    { ...unknown, ...forgotten(10), foreign: 1, ...cutTo([{ kind: 'unchecked', first: 1, last: 2 }]) },
  ],
  [
    'the offset of another program, after it has committed',
    of(5),
    known(own(7, 9)),
    { ...whole, position: 7, stale: true, isNew: true },
  ],
  ['the checkpoint of another process', by('other', 5), {}, whole],
  ['the checkpoint of another process, and knows the results', by('other', 5), { readsAll: true }, whole],
  ['its own checkpoint', by('this process', 5), {}, whole],
  [
    'a checkpoint before the beginning of the log',
    by('other', 1),
    {},
    { ...whole, ...forgotten(3), position: 3, isNew: true, ...cutTo([{ kind: 'unread', first: 1, last: 2 }]) },
  ],
  [
    'a checkpoint behind the end of the log',
    by('other', 12),
    { lookBackMs: 0 },
    {
      ...whole,
      ...forgotten(3),
      position: 10,
      unchecked: 12,
      isNew: true,
      ...cutTo([], { end: { from: 10, to: 12 } }),
    },
  ],
  [
    'a checkpoint that reaches behind the end of the log',
    unfinished,
    {},
    {
      ...{ ...whole, ...forgotten(3), position: 8, unchecked: 13, isNew: true },
      ...cutTo(
        [
          { kind: 'perhapsSent', first: 10, last: 10 },
          { kind: 'unsent', first: 11, last: 11 },
        ],
        { end: { from: 10, to: 13 } },
      ),
    },
  ],
  [
    'a checkpoint at the end of the log that reaches behind it',
    of(10, '1;other;8;EQ==;0;0;10'),
    {},
    {
      ...{ ...whole, ...forgotten(3), position: 10, unchecked: 13, isNew: true },
      ...cutTo(
        [
          { kind: 'perhapsSent', first: 10, last: 10 },
          { kind: 'unsent', first: 11, last: 11 },
          { kind: 'perhapsSent', first: 12, last: 12 },
        ],
        { end: { from: 10, to: 13 } },
      ),
    },
  ],
  [
    'a checkpoint, but perhaps not the last',
    { ...by('other', 5), lacksCommit: true },
    {},
    { ...unknown, ...forgotten(10), position: 5 },
  ],
  [
    'the checkpoint of a deleted topic of this name',
    { ...by('other', 5), topicId: 'second' },
    known({ confirmedOn: 'first' }),
    { ...unknown, ...forgotten(0) },
  ],
  [
    'the checkpoint of a deleted topic of this name, of which it had not finished all',
    { ...by('other', 5), topicId: 'second' },
    known({ ...own(4, 8), confirmedOn: 'first', lastEnd: 6 }),
    { ...unknown, ...forgotten(0), ...cutTo([{ kind: 'unread', first: 4, last: 5 }], { anew: true }) },
  ],
  [
    'the checkpoint of a deleted topic of this name, of which it had finished all',
    { ...by('other', 5), topicId: 'second' },
    known({ ...own(6, 8), confirmedOn: 'first', lastEnd: 6 }),
    { ...unknown, ...forgotten(0) },
  ],
  ['the checkpoint of the same topic', { ...by('other', 5), topicId: 'first' }, known({ confirmedOn: 'first' }), whole],
  ['the checkpoint of a topic without an id', by('other', 5), known({ confirmedOn: 'first' }), whole],
  ['the checkpoint of a topic that has an id now', { ...by('other', 5), topicId: 'first' }, known(), whole],
  ['nothing any more, after it has committed', {}, known(own(4, 8)), { ...unknown, ...forgotten(10, false) }],
  [
    'an older checkpoint than it has committed',
    by('this process', 5),
    known(own(7, 9)),
    { ...whole, position: 7, stale: true, isNew: true },
  ],
])(
  'a process that finds %s knows what may have been sent before, and what was lost',
  async (_, found, options, expected) => {
    const owner = buildOwner(logOfTen(found), options)
    const { session } = await owner.open()
    const { foreignOffset: foreign, stale, isNew, lost } = session.taken!
    const { position, forgotten, uncheckedUntil: unchecked } = session
    expect(session.lag).toBe(10 - position)
    expect({ position, forgotten, unchecked, foreign, stale, isNew, lost, told: owner.lost }).toEqual(expected)
  },
)
