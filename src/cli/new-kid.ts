import { randomInt } from 'node:crypto'

/** A name for a new key or secret, unique in practice: no two of the settings may have the same. */
export function newKid(): string {
  const month = new Date().toISOString().slice(2, 7).replace('-', '')
  return (
    month +
    randomInt(36 ** 4)
      .toString(36)
      .padStart(4, '0')
  )
}
