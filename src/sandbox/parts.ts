const beyondGsm7 = /[^\n\r !-Z_a-z¡£¤¥§¿ÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùüΓΔΘΛΞΠΣΦΨΩ[\\\]^{|}~€]/
const extended = /[[\\\]^{|}~€]/g

/** How many SMS segments a text fills: GSM 03.38 with its extension table, otherwise UCS-2. At least 1. */
export function partsOf(text: string): number {
  if (text.length <= 70) return 1
  if (beyondGsm7.test(text)) return segments(text.length, 70, 67)
  return segments(text.length + (text.match(extended)?.length ?? 0), 160, 153)
}

function segments(length: number, single: number, joined: number): number {
  return length <= single ? 1 : Math.ceil(length / joined)
}
