import { SettingsError, variableOf } from '../config/index.ts'
import { sendTypes } from '../protocol/index.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'
import type { OpenedSubject, TokenSubject } from './subject.ts'
import type { HookTokens } from './token.ts'

export interface HookUrlOptions {
  /** `callbacks.publicUrl`: the address the gateway can reach. */
  publicUrl: string
  /** `callbacks.urlMaxLength`, in characters. */
  urlMaxLength: number
  tokens: HookTokens
  /** Names of the accounts that will send. */
  accounts: readonly string[]
  /** Called for each address that had to leave out correlation, tenant and campaign. */
  onCorrelationDropped: () => void
}

const longestType = sendTypes.reduce((longest, type) => (type.length > longest.length ? type : longest), '')

/** What producers mark their commands with. */
const marks = ['correlationId', 'tenant', 'campaign'] as const
const unmarked = { correlationId: null, tenant: null, campaign: null, trace: null }

/** The longest subject without what may be left out, but for its account. */
const largeSubject = { id: 2n ** 63n - 1n, type: longestType, ...unmarked, country: 'UA' }

/**
 * Makes the `hook` of a command. From an address that would grow too long the trace is left out first, then correlation,
 * tenant and campaign; null when it is too long even so, which no account of `accounts` has to fear.
 * @throws SettingsError when the settings leave no room for a token.
 */
export function hookUrl(options: HookUrlOptions): (subject: TokenSubject) => string | null {
  const { urlMaxLength, tokens, onCorrelationDropped } = options
  const base = `${withoutSlash(options.publicUrl)}/hooks/`
  const lengths = options.accounts.map(account => base.length + tokens.issue({ ...largeSubject, account }).length)
  const needed = Math.max(0, ...lengths)
  if (needed > urlMaxLength) throw tooLong(needed, urlMaxLength)

  const fitting = (subject: TokenSubject): string | null => {
    const url = base + tokens.issue(subject)
    return url.length <= urlMaxLength ? url : null
  }

  return subject => {
    const full = fitting(subject) ?? (subject.trace ? fitting({ ...subject, trace: null }) : null)
    if (full !== null || marks.every(mark => subject[mark] === null)) return full
    onCorrelationDropped()
    return fitting({ ...subject, ...unmarked })
  }
}

function tooLong(needed: number, urlMaxLength: number): SettingsError {
  const what =
    `is too long: with the longest account's name a hook address takes ${needed} characters and ` +
    `callbacks.urlMaxLength allows ${urlMaxLength}; use a shorter address, or raise the limit if the gateway takes longer ones`
  return new SettingsError([
    { path: 'callbacks.publicUrl', where: variableOf('callbacks.publicUrl'), what, example: 'https://hooks.example' },
  ])
}

/** The account-level address, to be entered in the account's settings at the gateway. */
export function accountHookUrl(publicUrl: string, tokens: HookTokens, account: string): string {
  return `${withoutSlash(publicUrl)}/hooks/account/${account}/${tokens.issueAccount(account)}`
}

function withoutSlash(url: string): string {
  return url.endsWith('/') ? url.slice(0, -1) : url
}

/** Which address was called: one message's own, or an account's. */
export type CallbackOrigin = { kind: 'message'; subject: OpenedSubject } | { kind: 'account'; account: string }

const messagePattern = /\/hooks\/([^/]+)$/
const accountPattern = /\/hooks\/account\/([^/]+)\/([^/]+)$/

/**
 * Reads the request's target. What stands before /hooks/ is ignored, be it the path of callbacks.publicUrl, which a
 * proxy may leave as it is, or the host of an absolute target; and so is what is hung on behind a question mark.
 */
export function callbackOriginOf(
  url: string,
  tokens: Pick<HookTokens, 'open' | 'openAccount'>,
): CallbackOrigin | CallbackRefusal {
  const [path = ''] = url.split('?', 1)
  const [, account, accountToken] = accountPattern.exec(path) ?? []
  if (account !== undefined && accountToken !== undefined) {
    const opened = tokens.openAccount(account, accountToken)
    return opened.ok ? { kind: 'account', account } : opened.reason
  }
  const token = messagePattern.exec(path)?.[1]
  if (token === undefined) return 'path'
  const opened = tokens.open(token)
  return opened.ok ? { kind: 'message', subject: opened.subject } : opened.reason
}
