/** How many SMS parts a text takes, and why. */
export interface Parts {
  /** SMS parts, at least 1. */
  parts: number
  /** GSM-7 if every character is in GSM 03.38 or its extension table, else UCS-2. */
  encoding: 'GSM-7' | 'UCS-2'
  /** Characters as counted for parts: those of the extension table (such as € and [) and those beyond the BMP count twice. */
  characters: number
  /**
   * The first character outside GSM-7, which makes the text UCS-2; null if there is none. `place` 1 is the first character of
   * the text, where an emoji counts once.
   */
  first: { codePoint: number; place: number } | null
}

/** Characters of a single part, and of each of several parts, which begin with a header. */
const sizes = { 'GSM-7': { single: 160, joined: 153 }, 'UCS-2': { single: 70, joined: 67 } } as const

const beyondGsm7 = /[^\n\f\r !-Z_a-z¡£¤¥§¿ÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùüΓΔΘΛΞΠΣΦΨΩ[\\\]^{|}~€]/
const extended = /[\f[\\\]^{|}~€]/g
const escapeUnit = '\x1b'

/**
 * The number of SMS parts of a text, by 3GPP TS 23.038 and 23.040: 160 characters of GSM-7 or 70 of UCS-2 in a single part,
 * 153 or 67 in each of several. A part never ends within an escape sequence or a surrogate pair. National language tables are
 * not used. The gateway reports its own count as `parts`.
 */
export function partsOf(text: string): Parts {
  const first = firstBeyondGsm7(text)
  const encoding = first ? 'UCS-2' : 'GSM-7'
  const units = first ? text : text.replace(extended, `${escapeUnit}$&`)
  const { single, joined } = sizes[encoding]
  const beginsPair = first ? isLeadingSurrogate : isEscape
  const parts = units.length <= single ? 1 : countJoined(units, joined, beginsPair)
  return { parts, encoding, characters: units.length, first }
}

/** All characters before it are in GSM-7, hence one unit each. */
function firstBeyondGsm7(text: string): Parts['first'] {
  const at = text.search(beyondGsm7)
  return at < 0 ? null : { codePoint: text.codePointAt(at)!, place: at + 1 }
}

function countJoined(units: string, size: number, beginsPair: (unit: number) => boolean): number {
  let parts = 0
  for (let end = 0; end < units.length; parts++) {
    end += size
    if (beginsPair(units.charCodeAt(end - 1))) end-- // goes to the next part
  }
  return parts
}

const isEscape = (unit: number): boolean => unit === escapeUnit.charCodeAt(0)
const isLeadingSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
