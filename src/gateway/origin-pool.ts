import type { Socket } from 'node:net'
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'

export interface OriginPoolOptions {
  /** Scheme, host and port. */
  origin: string
  /** Most connections; each carries one request at a time. */
  connections: number
  /** Idle time-out of a connection; the server's Keep-Alive header can shorten it. Default 500. */
  keepAliveMs?: number | undefined
  /** Age at which a connection is replaced; a request on it is finished. Default 10,000. */
  maxAgeMs?: number | undefined
  /** Certificate authorities in PEM to trust instead of Node's, or an object that returns the current ones. */
  ca?: Authorities | undefined
}

export type Authorities = string | { reveal(): string }

/** Time-out for connecting to the server, and for a proxy's answer to CONNECT. */
const connectTimeoutMs = 5_000
/**
 * A name that has moved to another address is followed within this time, even if a connection to the old address is never
 * idle.
 */
const defaultMaxAgeMs = 10_000
/** The strictest servers close idle connections after 1 s; a request that meets the close is in doubt. */
const defaultKeepAliveMs = 500

/** Overrides NODE_TLS_REJECT_UNAUTHORIZED. */
const alwaysVerified = { rejectUnauthorized: true }

/**
 * A pool of connections to one origin: direct, or for an https origin through HTTPS_PROXY unless NO_PROXY applies.
 * @throws Error when HTTPS_PROXY is invalid
 */
export function openPool(options: OriginPoolOptions) {
  const { origin, connections, keepAliveMs = defaultKeepAliveMs, maxAgeMs = defaultMaxAgeMs, ca } = options
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
      clientTtl: maxAgeMs,
    }
    const connect = { timeout: connectTimeoutMs, ...tls }
    return isProxied(origin)
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
  }

  /** Opens new connections; the old ones close after their last answer. */
  function renew(): void {
    void current.close()
    current = opened()
  }

  return {
    /** The dispatcher for the next request. A new `ca` gets a new one. */
    dispatcher(): Dispatcher {
      const now = authorities()
      if (now !== trusted) {
        trusted = now
        renew()
      }
      return current
    },
    renew,
    /** Closes at once; requests in flight fail. */
    close: () => current.destroy(),
  }
}

/**
 * Skips an unrequested `100 Continue`, which undici treats as the end of the connection. It precedes the answer, and its line
 * breaks cannot occur in JSON.
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

/** Whether `100 Continue` begins here, or may begin here once more bytes have arrived. */
const mayContinue = (bytes: Buffer): boolean => {
  const length = Math.min(bytes.length, continueStart.length)
  return length > 0 && bytes.subarray(0, length).equals(continueStart.subarray(0, length))
}

/** Whether a proxy is configured for the address, apart from NO_PROXY. @throws Error when HTTPS_PROXY is invalid */
function isProxied(url: string): boolean {
  const trouble = proxyTrouble(url, process.env)
  if (trouble) throw new Error(`${trouble.variable} ${trouble.what}`)
  return url.startsWith('https:') && Boolean(proxyIn(process.env).value)
}

type Environment = Readonly<Record<string, string | undefined>>

/** As undici reads it: the lower case goes first, even if it is empty. */
function proxyIn(env: Environment): { variable: string; value: string | undefined } {
  const variable = env.https_proxy === undefined ? 'HTTPS_PROXY' : 'https_proxy'
  return { variable, value: env[variable] }
}

/** Why the proxy for the address cannot be used; null if it can, or there is none. Names the variable, never its value. */
export function proxyTrouble(url: string, env: Environment): { variable: string; what: string } | null {
  const { variable, value } = proxyIn(env)
  if (!url.startsWith('https:') || !value) return null
  const { protocol = '', username = '', password = '' } = URL.parse(value) ?? {}
  if (!/^https?:$/.test(protocol)) return { variable, what: 'is not the address of a proxy: write http://host:port' }
  if (!isDecodable(username + password)) {
    return { variable, what: 'has a raw % in its user or password: write %25' }
  }
  return null
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== null
  } catch {
    return false
  }
}
