import type { Socket } from 'node:net'
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'

export interface DispatchingOptions {
  /** Scheme, host and port. */
  origin: string
  /** The most connections; each carries one request at a time. */
  connections: number
  /** How long a connection without a request is kept; the server's Keep-Alive header can shorten it. Default 500. */
  keepAliveMs?: number | undefined
  /** Who may vouch for the server, in place of those that Node trusts: certificates in PEM, or what tells them now. */
  ca?: Authorities | undefined
}

export type Authorities = string | { reveal(): string }

/** Connections to one origin, which are opened as they are needed. */
export interface Dispatching {
  /**
   * Answers the dispatcher that takes the next request. It is another one when `ca` has changed; the one before ends
   * with its last answer.
   */
  dispatcher(): Dispatcher
  /** Ends what is under way, too. */
  close(): Promise<void>
}

/** The connection to the server may take this long, and so may what a proxy says to CONNECT. */
const connectTimeoutMs = 5_000
/** Below the second after which the strictest servers close an idle connection: a request that meets the closing is in doubt. */
const defaultKeepAliveMs = 500

/** Whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
const alwaysVerified = { rejectUnauthorized: true }

/**
 * Through the proxy that HTTPS_PROXY names, but for NO_PROXY, where the origin begins with https.
 * @throws Error when HTTPS_PROXY cannot be used
 */
export function dispatchTo({
  origin,
  connections,
  keepAliveMs = defaultKeepAliveMs,
  ca,
}: DispatchingOptions): Dispatching {
  const open = new Set<Dispatcher>()
  const authorities = () => (typeof ca === 'object' ? ca.reveal() : ca)
  let trusted = authorities()
  let current = opened()

  function opened(): Dispatcher {
    const tls = { ...alwaysVerified, ...(trusted !== undefined && { ca: trusted }) }
    const limits = {
      connections,
      pipelining: 1,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
    }
    const connect = { timeout: connectTimeoutMs, ...tls }
    const pool = isProxied(origin)
      ? new EnvHttpProxyAgent({
          ...limits,
          connect,
          httpProxy: '',
          connectTimeout: connectTimeoutMs,
          proxyTls: alwaysVerified,
          requestTls: { ...tls, allowH2: false },
          clientFactory: (proxy, options) => new Pool(proxy, { ...options, headersTimeout: connectTimeoutMs }),
        })
      : new Pool(origin, { ...limits, connect: tolerant(buildConnector({ ...connect, allowH2: false })) })
    open.add(pool)
    return pool
  }

  return {
    dispatcher() {
      const now = authorities()
      if (now === trusted) return current
      const before = current
      trusted = now
      current = opened()
      void before.close().then(() => open.delete(before))
      return current
    },
    async close() {
      await Promise.all([...open].map(one => one.destroy()))
    },
  }
}

/**
 * Passes over `100 Continue` that nobody asked for, which undici takes for the end of the connection. It comes before the
 * answer, and its line breaks cannot stand in the JSON of one.
 */
function tolerant(connect: buildConnector.connector): buildConnector.connector {
  return (options, done) =>
    connect(options, (...[error, socket]: Parameters<typeof done>) => {
      if (error) done(error, null)
      else done(null, withoutContinue(socket as Socket))
    })
}

function withoutContinue<S extends Socket>(socket: S): S {
  const read = socket.read.bind(socket)
  let rest: Buffer = Buffer.alloc(0)
  socket.read = size => {
    const piece: Buffer | null = read(size)
    if (piece === null) return null
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    while (mayContinue(rest)) {
      const end = rest.indexOf('\r\n\r\n')
      if (end === -1 && rest.length <= longestContinue) return null
      if (end === -1) break
      rest = rest.subarray(end + 4)
    }
    const passed = rest
    rest = Buffer.alloc(0)
    return passed.length === 0 ? null : passed
  }
  return socket
}

const continueStart = Buffer.from('HTTP/1.1 100')
const longestContinue = 16 << 10

/** Tells whether `100 Continue` begins here, or may begin once more has come. */
const mayContinue = (bytes: Buffer): boolean => {
  const length = Math.min(bytes.length, continueStart.length)
  return length > 0 && bytes.subarray(0, length).equals(continueStart.subarray(0, length))
}

/** Tells whether a proxy may be on the way there, NO_PROXY aside. @throws Error when HTTPS_PROXY cannot be used */
function isProxied(url: string): boolean {
  const proxy = process.env.https_proxy ?? process.env.HTTPS_PROXY
  if (!url.startsWith('https:') || !proxy) return false
  if (/^https?:$/.test(URL.parse(proxy)?.protocol ?? '')) return true
  throw new Error('HTTPS_PROXY is not the address of a proxy: write http://host:port')
}
