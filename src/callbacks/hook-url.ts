import type { HookSubject } from './subject.ts'
import type { HookTokens } from './token.ts'

export interface HookUrlOptions {
  /** `callbacks.publicUrl`: the address the gateway can reach. */
  publicUrl: string
  /** `callbacks.urlMaxLength`, in characters. */
  urlMaxLength: number
  tokens: HookTokens
  /** Called for each address that had to leave out correlation and tenant. */
  onCorrelationDropped: () => void
}

/** The longest subject without correlation, for accounts with names of ordinary length. */
const LARGE_SUBJECT: HookSubject = {
  account: 'default',
  id: 2n ** 63n - 1n,
  type: 'rcs+viber+sms',
  correlationId: null,
  tenant: null,
}

/**
 * Makes the `hook` of a command. Correlation and tenant are left out of an address that would grow too long;
 * null when it is too long even so.
 * @throws RangeError when `publicUrl` leaves no room for any token.
 */
export function hookUrl(options: HookUrlOptions): (subject: HookSubject) => string | null {
  const { urlMaxLength, tokens, onCorrelationDropped } = options
  const base = `${withoutSlash(options.publicUrl)}/hooks/`
  const needed = base.length + tokens.issue(LARGE_SUBJECT).length
  if (needed > urlMaxLength) {
    throw new RangeError(
      `callbacks.publicUrl is too long: a hook address takes ${needed} characters and callbacks.urlMaxLength allows ` +
        `${urlMaxLength}; use a shorter address or raise the limit if the gateway takes longer ones`,
    )
  }

  return subject => {
    const full = base + tokens.issue(subject)
    if (full.length <= urlMaxLength) return full
    if (subject.correlationId === null && subject.tenant === null) return null
    onCorrelationDropped()
    const short = base + tokens.issue({ ...subject, correlationId: null, tenant: null })
    return short.length <= urlMaxLength ? short : null
  }
}

/** The account-level address, to be entered in the account's settings at the gateway. */
export function accountHookUrl(publicUrl: string, tokens: HookTokens, account: string): string {
  return `${withoutSlash(publicUrl)}/hooks/account/${account}/${tokens.issueAccount(account)}`
}

function withoutSlash(url: string): string {
  return url.endsWith('/') ? url.slice(0, -1) : url
}
