import type { Refusal } from './refusals.ts'
import type { OpenedSubject } from './subject.ts'
import type { HookTokens } from './token.ts'

/** Which address was called: one message's own, or an account's. */
export type CallbackOrigin = { kind: 'message'; subject: OpenedSubject } | { kind: 'account'; account: string }

const MESSAGE_PATH = /^\/hooks\/([^/?]+)(?:\?|$)/
const ACCOUNT_PATH = /^\/hooks\/account\/([^/?]+)\/([^/?]+)(?:\?|$)/

/** Reads the request's path. What a proxy or the gateway hangs on behind a question mark is ignored. */
export function originOf(url: string, tokens: Pick<HookTokens, 'open' | 'openAccount'>): CallbackOrigin | Refusal {
  const token = MESSAGE_PATH.exec(url)?.[1]
  if (token !== undefined) {
    const opened = tokens.open(token)
    return opened.ok ? { kind: 'message', subject: opened.subject } : opened.reason
  }
  const [, account, accountToken] = ACCOUNT_PATH.exec(url) ?? []
  if (account === undefined || accountToken === undefined) return 'path'
  const opened = tokens.openAccount(account, accountToken)
  return opened.ok ? { kind: 'account', account } : opened.reason
}
