import { editDistance } from '../config/names.ts'

/** Of the known names, the one that is spelled most like this one. */
export function nearest(name: string, known: readonly string[]): string {
  return known.reduce((best, other) => (editDistance(name, other) < editDistance(name, best) ? other : best))
}
