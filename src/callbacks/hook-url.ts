import { SettingsError, variableOf } from '../config/index.ts'
import { sendTypes } from '../protocol/index.ts'
import type { CallbackRefusal } from '../telemetry/labels.ts'
import type { OpenedSubject, TokenSubject } from './subject.ts'
import type { HookTokens } from './token.ts'

interface HookUrlOptions {
  /** `callbacks.publicUrl`: the address the gateway can reach. */
  publicUrl: string
  /** `callbacks.urlMaxLength`, in characters. */
  urlMaxLength: number
  tokens: HookTokens
  /** Names of the configured accounts. */
  accounts: readonly string[]
  /** Called for each address from which correlation, tenant and campaign were left out. */
  onCorrelationDropped: () => void
}

const longestType = sendTypes.reduce((longest, type) => (type.length > longest.length ? type : longest), '')

const marks = ['correlationId', 'tenant', 'campaign'] as const
const unmarked = { correlationId: null, tenant: null, campaign: null, trace: null }

/** The longest subject without optional parts, except for its account. */
const largeSubject = { id: 2n ** 63n - 1n, type: longestType, ...unmarked, country: 'UA' }

/**
 * Creates the `hook` of a command. An address that would be too long leaves out the trace first, then correlation, tenant and
 * campaign; null if it is still too long, which is impossible for the accounts of `accounts`.
 * @throws SettingsError when the settings leave no room for a token
 */
export function hookUrl(options: HookUrlOptions): (subject: TokenSubject) => string | null {
  const { urlMaxLength, tokens, onCorrelationDropped } = options
  const base = `${options.publicUrl}/hooks/`
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
  return `${publicUrl}/hooks/account/${account}/${tokens.issueAccount(account)}`
}

/** The address that was called: of one message, or of an account. */
export type CallbackOrigin = { kind: 'message'; subject: OpenedSubject } | { kind: 'account'; account: string }

const messagePattern = /\/hooks\/([^/]+)$/
const accountPattern = /\/hooks\/account\/([^/]+)\/([^/]+)$/

/**
 * Parses a request target. Ignores the query, and everything before /hooks/: the path of callbacks.publicUrl, which a proxy
 * may keep, or the host of an absolute target.
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
