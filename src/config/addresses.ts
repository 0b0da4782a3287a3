/**
 * The grammar of addresses in settings, as patterns that JavaScript and Go's RE2 read alike: the chart's schema has them too.
 * Each is the source of a regular expression without anchors.
 */

/** A character of a name: a letter, a digit, `-`, `_`, or anything beyond ASCII. */
const inName = String.raw`[^\x00-,./:-@\[-\^\x60\{-\x7f]`
/** The last label of a name. Digits alone, or a hexadecimal number, would be an IPv4 address of another form. */
const lastLabel = String.raw`([0-9]*[^\x00-,./0-9:-@Xx\[-\^\x60\{-\x7f]|[Xx])${inName}*`
const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const ipv4 = String.raw`${byte}(\.${byte}){3}`

/** IPv6 of eight groups, of which one run of zeros may be written as `::`. */
function ipv6(): string {
  const group = '[0-9A-Fa-f]{1,4}'
  const shortened = Array.from({ length: 6 }, (_, index) => `(${group}:){1,${6 - index}}(:${group}){1,${index + 1}}`)
  return [`(${group}:){7}${group}`, `(${group}:){1,7}:`, ...shortened, `:((:${group}){1,7}|:)`].join('|')
}

const host = String.raw`((${inName}+\.)*${lastLabel}\.?|${ipv4}|\[(${ipv6()})\])`
const portBelow65536 = '([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'
const origin = `[Hh][Tt][Tt][Pp][Ss]?://${host}(:${portBelow65536})?`

export const hostAndPort = `${host}:${portBelow65536}`
/** Without user and password, which have their own settings, and without blanks. */
export const httpAddress = String.raw`${origin}([/?#][^\x00-\x20\x7f\\]*)?`
export const baseAddress = String.raw`${origin}(/[^\x00-\x20\x7f\\?#]*)?`
