import { editDistance } from '../../config/names.ts'

/** The known name that is spelled most like this one. */
export function nearest(name: string, known: readonly string[]): string {
  return known.reduce((best, other) => (editDistance(name, other) < editDistance(name, best) ? other : best))
}
