import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'
import { isPhone } from '../protocol/fields.ts'

/**
 * Reads a phone number as people write it, such as `067 123-45-67`, for the field `phone` of a command.
 * @param defaultCountry country of a number without `+`, as two letters of ISO 3166 such as `UA`. Default: such a number begins with a
 * calling code.
 * @returns its digits in international format; null if the text is not one number of a possible length, or has an extension
 * @throws Error when the country is unknown
 */
export function toPhone(text: string, defaultCountry?: CountryCode): number | null {
  if (defaultCountry !== undefined && !isSupportedCountry(defaultCountry, metadata)) {
    throw new Error('toPhone: defaultCountry must be two capital letters of ISO 3166, such as UA')
  }
  const trimmed = text.trim()
  const international = defaultCountry === undefined && /^\d/.test(trimmed) ? `+${trimmed}` : trimmed
  const found = parsePhoneNumberFromString(
    international,
    { ...(defaultCountry && { defaultCountry }), extract: false },
    metadata,
  )
  if (!found?.isPossible() || found.ext !== undefined) return null
  const phone = Number(found.number.slice(1))
  return isPhone(phone) ? phone : null
}
