import { type PerAccount, type Settings, valueFor } from '../config/index.ts'
import { type Parts, partsOf } from '../protocol/index.ts'
import { smsTextOf } from '../protocol/sms-text.ts'
import { count, span } from '../words.ts'
import type { Command } from './command.ts'
import type { FieldProblem } from './new-command.ts'
import { hasContent } from './sealed.ts'

/** What a limit of the settings refuses about a valid command. */
export interface Excess extends FieldProblem {
  errorCode: 'COUNTRY' | 'PARTS' | 'SEAL'
}

/** Finds what the settings do not allow an account to send; null: it may send the command. */
export type Limits = (command: Command) => Excess | null

type LimitSettings = Pick<Settings['gateway'], 'countries' | 'maxParts'>

/** The limits of the settings. Not for a command that was perhaps sent: it stays perhaps sent, whatever they are now. */
export function limitsOf({ gateway: { countries, maxParts }, sealing }: Pick<Settings, 'gateway' | 'sealing'>): Limits {
  return command =>
    unsealed(command, sealing.required) ?? beyondCountries(command, countries) ?? beyondParts(command, maxParts)
}

function unsealed({ account, sealed, type }: Command, required: readonly string[] = []): Excess | null {
  if (sealed || !hasContent(type) || !required.includes(account)) return null
  return { errorCode: 'SEAL', field: 'message', expected: 'must be sealed: sealing.required names its account' }
}

/** What is wrong with a time that is too far ahead; null if nothing is. */
export function beyondHorizon(
  { notBefore }: Pick<Command, 'notBefore'>,
  horizonMs: number,
  now: number,
): FieldProblem | null {
  if (notBefore === null || notBefore <= now + horizonMs) return null
  return { field: 'notBefore', expected: `must be at most ${span(horizonMs)} ahead (commands.horizonMs)` }
}

function beyondCountries({ account, country }: Command, countries: LimitSettings['countries']): Excess | null {
  const allowed = valueFor(account, countries)
  if (allowed === undefined || (country !== null && allowed.includes(country))) return null
  const found = country === null ? 'its country is unknown' : `it is of ${country}`
  const expected = `must be of a country in ${nameFor(account, countries, 'countries')}; ${found}`
  return { errorCode: 'COUNTRY', field: 'phone', expected }
}

/** Counts the text in the JSON that would be POSTed. */
function beyondParts({ account, type, json, sealed }: Command, maxParts: LimitSettings['maxParts']): Excess | null {
  const most = valueFor(account, maxParts)
  const sms = most === undefined ? null : smsTextOf(type, JSON.parse(json))
  if (most === undefined || sms === null) return null
  const needed = partsOf(sms.text)
  if (needed.parts <= most) return null
  const name = nameFor(account, maxParts, 'maxParts')
  const expected = `must fit into ${count(most, 'SMS part')} (${name}); it needs ${needed.parts}${causeOf(needed, sealed)}`
  return { errorCode: 'PARTS', field: sms.field, expected }
}

/** Which character makes parts short, without quoting it; of sealed content, only its place. */
function causeOf({ first }: Parts, sealed: boolean): string {
  if (first === null) return ''
  const name = sealed ? '' : ` (U+${first.codePoint.toString(16).toUpperCase().padStart(4, '0')})`
  return `, because its character ${first.place}${name} is not in GSM-7, so a part holds less than half as much`
}

const nameFor = (account: string, { own }: PerAccount<unknown>, name: string): string =>
  own.has(account) ? `gateway.accounts.${account}.${name}` : `gateway.${name}`
