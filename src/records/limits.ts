import { type PerAccount, type Settings, valueFor } from '../config/index.ts'
import type { Command } from './command.ts'
import type { FieldProblem } from './new-command.ts'

/** What a limit of the settings refuses about a valid command. */
export interface Excess extends FieldProblem {
  errorCode: 'COUNTRY'
}

/** Finds what the settings do not allow an account to send; null: it may send the command. */
export type Limits = (command: Command) => Excess | null

/** The limits of the settings. Not for a command that was perhaps sent: it stays perhaps sent, whatever they are now. */
export function limitsOf({ countries }: Pick<Settings['gateway'], 'countries'>): Limits {
  return command => beyondCountries(command, countries)
}

function beyondCountries({ account, country }: Command, countries: Settings['gateway']['countries']): Excess | null {
  const allowed = valueFor(account, countries)
  if (allowed === undefined || (country !== null && allowed.includes(country))) return null
  const found = country === null ? 'its country is unknown' : `it is of ${country}`
  const expected = `must be of a country in ${nameFor(account, countries, 'countries')}; ${found}`
  return { errorCode: 'COUNTRY', field: 'phone', expected }
}

const nameFor = (account: string, { own }: PerAccount<unknown>, name: string): string =>
  own.has(account) ? `gateway.accounts.${account}.${name}` : `gateway.${name}`
