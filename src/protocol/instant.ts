const dateTime = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)$/i

/**
 * Parses an ISO 8601 date-time with a UTC offset into milliseconds since 1970, truncated to milliseconds. null if the text is
 * not a date-time or has no offset.
 */
export function instantOf(text: string): number | null {
  const [, date, time, offset] = dateTime.exec(text.trim()) ?? []
  if (date === undefined || time === undefined || offset === undefined) return null
  const [year, month, day] = date.split('-').map(Number)
  const isDay = day! <= new Date(Date.UTC(year!, month!, 0)).getUTCDate() // Date would turn 30 February into 2 March
  const instant = Date.parse(`${date}T${time}${offset.replace(/^(.\d\d)(\d\d)$/, '$1:$2').toUpperCase()}`)
  return isDay && !Number.isNaN(instant) ? instant : null
}
