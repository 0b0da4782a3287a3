/** @typedef {import('../../vocabulary/lists.ts').Outcome | import('../../vocabulary/lists.ts').State} Word */

/** @type {Record<string, string> & Record<Word, string>} */
const tones = {
  ...{ SENT: 'good', REJECTED: 'bad', INVALID: 'bad', EXPIRED: 'bad', DUPLICATE: '' },
  ...{ IN_DOUBT: 'doubt', UNRESOLVED: 'doubt' },
  ...{ PENDING: '', DELIVERED: 'good', FAILED: 'bad', UNKNOWN: '' },
}

/** The colour of an outcome or a state; empty if it has none. @param {string} word */
export const toneOf = word => tones[word] ?? ''
