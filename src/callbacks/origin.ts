import type { CallbackRefusal } from '../telemetry/labels.ts'
import type { OpenedSubject } from './subject.ts'
import type { HookTokens } from './token.ts'

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
