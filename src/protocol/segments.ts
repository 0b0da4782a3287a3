/** Segments is what an SMS text takes. */
export interface Segments {
  /** GSM-7 where every character has a place in GSM 03.38 and its extension table, UCS-2 otherwise. */
  encoding: 'GSM-7' | 'UCS-2'
  /**
   * The characters as they count towards a part: those of the extension table (such as € and [) and those beyond the
   * BMP count 2.
   */
  characters: number
  /** SMS parts, at least 1. */
  parts: number
}

/** How many characters a message of one part holds, and each part of a longer one, which begins with a header. */
const sizes = { 'GSM-7': { single: 160, joined: 153 }, 'UCS-2': { single: 70, joined: 67 } } as const

const beyondGsm7 = /[^\n\f\r !-Z_a-z¡£¤¥§¿ÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùüΓΔΘΛΞΠΣΦΨΩ[\\\]^{|}~€]/
const extended = /[\f[\\\]^{|}~€]/g
const escapeUnit = '\x1b'

/**
 * The SMS parts that a text costs, by 3GPP TS 23.038 and 23.040: 160 characters of GSM-7 or 70 of UCS-2, and 153 or 67
 * in each of several parts. Neither an escape and its character nor a surrogate pair is divided between two parts.
 * National language tables are not used. The gateway's own count is `parts` of its answer.
 */
export function segmentsOf(text: string): Segments {
  const encoding = beyondGsm7.test(text) ? 'UCS-2' : 'GSM-7'
  const units = encoding === 'GSM-7' ? text.replace(extended, `${escapeUnit}$&`) : text
  const { single, joined } = sizes[encoding]
  const beginsPair = encoding === 'GSM-7' ? isEscape : isLeadingSurrogate
  const parts = units.length <= single ? 1 : partsOf(units, joined, beginsPair)
  return { encoding, characters: units.length, parts }
}

function partsOf(units: string, size: number, beginsPair: (unit: number) => boolean): number {
  let parts = 0
  for (let end = 0; end < units.length; parts++) {
    end += size
    if (beginsPair(units.charCodeAt(end - 1))) end-- // goes to the next part
  }
  return parts
}

const isEscape = (unit: number): boolean => unit === escapeUnit.charCodeAt(0)
const isLeadingSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
