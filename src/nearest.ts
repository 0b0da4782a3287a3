/** Longest name that is compared: the names that users write are shorter, and foreign ones have any length. */
const longestName = 100
/** A shorter beginning of a word is no sign that the word is meant. */
const shortestBeginning = 3

/** The advice after an unknown name: the known name that was probably meant. @param otherwise what to say if none is near */
export function nearestOr(name: string, known: readonly string[], otherwise: string): string {
  const found = nearest(name, known)
  return found === null ? otherwise : `the nearest is ${found}`
}

/** The known name with the most similar spelling, of those that are near; null if none is. */
export function nearest(name: string, known: readonly string[]): string | null {
  if (name.length > longestName) return null
  const near = known.filter(one => isNear(name, one)).map(one => ({ one, distance: editDistance(name, one) }))
  return (
    near.reduce<(typeof near)[0] | null>((best, one) => (best && best.distance <= one.distance ? best : one), null)
      ?.one ?? null
  )
}

/**
 * Whether each word of the name is spelled like a word of the known name, or like several that follow each other there:
 * `quiet`, `quiet-hour` and `hours.quiet` are near `gateway.quietHours`, and `gateway.silence` is not.
 */
function isNear(name: string, known: string): boolean {
  const words = wordsOf(name)
  const runs = runsOf(wordsOf(known))
  return words.length > 0 && words.every(word => runs.some(run => isAlike(word, run)))
}

/** `gateway.quietHours` → gateway, quiet, hours */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
}

/** Words that follow each other, written as one. */
function runsOf(words: readonly string[]): string[] {
  return words.flatMap((_, from) => words.slice(from).map((_, more) => words.slice(from, from + more + 1).join('')))
}

function isAlike(word: string, other: string): boolean {
  if (word.length >= shortestBeginning && other.startsWith(word)) return true
  return editDistance(word, other) <= Math.min(word.length, other.length) / 3
}

/** How many letters differ: written wrongly, missing, too many, or swapped with the next. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const [row, before] = [rows[i - 1]!, rows[i - 2]]
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSwapped = before && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1, isSwapped ? before[j - 2]! + 1 : replaced))
    }
    rows.push(next)
  }
  return rows[a.length]![b.length]!
}
