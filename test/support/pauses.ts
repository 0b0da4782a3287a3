import type { Change } from '../../src/pauses/change.ts'

/** Builds what somebody writes who pauses something: the topic `bulk` unless told otherwise. */
export function buildPause(overrides: Partial<Change> = {}): Change {
  return { kind: 'topic', name: 'bulk', paused: true, by: 'olena', at: 0, until: null, reason: null, ...overrides }
}

export const buildResume = (overrides: Partial<Change> = {}) => buildPause({ ...overrides, paused: false })
