/** @typedef {{ by: string, text: string, back?: string, account?: string }} Question */

/** The address of a search on this page: it stands behind the #, so that it can be kept, and is not sent to anybody. @param {Question} question */
export function linkTo(question) {
  const given = Object.entries(question).filter(([, value]) => value)
  return `#${new URLSearchParams(given)}`
}

/** The question that an address asks; null: it asks how it is now. @param {string} hash @returns {Question | null} */
export function questionIn(hash) {
  const given = new URLSearchParams(hash.slice(1))
  const by = given.get('by')
  const text = given.get('text')
  if (!by || !text) return null
  return { by, text, back: given.get('back') ?? '', account: given.get('account') ?? '' }
}
