import type { IncomingMessage } from 'node:http'

/** Names of this machine for itself, whatever the port: a tunnel may lead here from another one. */
const ownNames = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i

/** Sent with everything. What the page runs, draws and asks comes from this server alone. */
export const safetyHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types lit-html',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** The path of a request's target. `//` and other targets that are no path of an address are taken as they stand. */
export function pathOf(url = '/'): string {
  return url.split('?', 1)[0]!
}

export interface PageRefusal {
  status: number
  /** A sentence for people. */
  text: string
  headers?: Record<string, string>
}

/**
 * Tells why a request is not answered; null: it is. A page of somebody else's, open in the same browser, can ask this
 * server: under its own name, which it lets lead to 127.0.0.1 (DNS rebinding), or as another site. Neither is answered.
 */
export function pageRefusalOf({ method, url, headers }: IncomingMessage): PageRefusal | null {
  if (!ownNames.test(headers.host ?? '')) {
    const text =
      'This page answers only under localhost, 127.0.0.1 and [::1], so that no other web site can read it. ' +
      'Open it under one of these names; from another machine, through a tunnel (ssh -L).'
    return { status: 403, text }
  }
  const site = headers['sec-fetch-site']
  // By a link, which shows the page to nobody but its reader. What a page of the API is asked for costs searches and seats.
  const isOpened =
    headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document' && pathOf(url) === '/'
  if ((site === 'cross-site' || site === 'same-site') && !isOpened) {
    return { status: 403, text: 'This page does not answer other web sites.' }
  }
  if (method !== 'GET') return { status: 405, text: 'This page only reads: GET is allowed.', headers: { allow: 'GET' } }
  return null
}
