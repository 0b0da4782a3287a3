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

const longestType = 'x'.repeat(Math.max(...sendTypes.map(type => type.length)))

const marks = ['correlationId', 'tenant', 'campaign'] as const
const unmarked = { correlationId: null, tenant: null, campaign: null, trace: null }

/** As long as the longest subject without optional parts, except for its account. All ids take the same room. */
const largeSubject = { id: 1n, type: longestType, ...unmarked, country: 'UA' }

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

/**
 * Parses a request target. Ignores the query, and everything before /hooks/: the path of callbacks.publicUrl, which a proxy
 * may keep, or the host of an absolute target.
 */
export function callbackOriginOf(
  target: string,
  tokens: Pick<HookTokens, 'open' | 'openAccount'>,
): CallbackOrigin | CallbackRefusal {
  const [place, kind, account = '', token = ''] = lastSegments(target, 4)
  if (place === 'hooks' && kind === 'account') {
    const opened = tokens.openAccount(account, token)
    return opened.ok ? { kind: 'account', account } : opened.reason
  }
  if (account !== 'hooks') return 'path'
  const opened = tokens.open(token)
  return opened.ok ? { kind: 'message', subject: opened.subject } : opened.reason
}

/** Escapes of characters that need none, which RFC 3986 (6.2.2.2) calls equal to the characters. */
const needlessEscape = /%(?:2[de]|3\d|[46][1-9a-f]|[57][0-9a]|5f|7e)/gi

/** The last parts of a target's path in its normal form (RFC 3986, 6.2.2), without empty parts; senders write it in many. */
function lastSegments(target: string, count: number): (string | undefined)[] {
  const [path = ''] = target.split(/[?#]/, 1)
  const plain = path.replaceAll(needlessEscape, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  const segments: string[] = []
  for (const segment of plain.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return Array.from({ length: count }, (_, i) => segments[segments.length - count + i])
}
