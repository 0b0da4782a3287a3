import { lookup } from 'node:dns/promises'
import { isIP, type Socket, connect as tcpConnect } from 'node:net'
import { type TLSSocket, type ConnectionOptions as TlsOptions, connect as tlsConnect } from 'node:tls'
import { verifiedTls } from '../../config/index.ts'
import { type Finding, failed, ok, warning } from './check.ts'

/** ListeningAddress says where somebody has to listen. */
export interface ListeningAddress {
  host: string
  port: number
  /** Whether TLS is spoken, or how. */
  tls: boolean | TlsOptions
  /** What names this place, such as a variable. */
  givenBy: string
  /** The variable that names a file of who may vouch for it. */
  caGivenBy: string
}

/** Below the limit of a check, so that the places that answered are told. */
const limitMs = 4000
const dayMs = 24 * 3_600_000
const soonMs = 14 * dayMs

export function addressOf(
  url: string,
  { givenBy, caGivenBy }: Pick<ListeningAddress, 'givenBy' | 'caGivenBy'>,
): ListeningAddress {
  const { protocol, hostname, port } = new URL(url)
  const tls = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  return { host, port: port === '' ? (tls ? 443 : 80) : Number(port), tls, givenBy, caGivenBy }
}

/** `host:port`, with brackets around an IPv6 address. */
export function placeOfBroker(
  address: string,
  of: Pick<ListeningAddress, 'tls' | 'givenBy' | 'caGivenBy'>,
): ListeningAddress {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '')
  return { host, port: Number(address.slice(colon + 1)), ...of }
}

/** Looks the name up, connects, and shakes hands where TLS is spoken. */
export async function reach(place: ListeningAddress): Promise<Finding> {
  const { host, port, givenBy } = place
  const at = `${host}:${port}`
  let address: string
  try {
    address = isIP(host) ? host : (await lookup(host)).address
  } catch (error) {
    return failed(`the name ${host} has no address (${codeOf(error)})`, `getent hosts ${host}, and check ${givenBy}`)
  }
  const via = address === host ? '' : ` (${address})`
  try {
    const certificateEnds = await connect(place)
    if (!certificateEnds) return ok(`${at}${via} takes connections`)
    const until = `its certificate is valid until ${certificateEnds.toISOString().slice(0, 10)}`
    if (certificateEnds.getTime() - Date.now() > soonMs) return ok(`${at}${via} accepts connections; ${until}`)
    return warning(`${at}${via} accepts connections; ${until}`, `renew the certificate of ${host}`)
  } catch (error) {
    return refused(place, `${at}${via}`, codeOf(error))
  }
}

export function reached({ state }: Finding): boolean {
  return state === 'ok' || state === 'warning'
}

function refused({ host, port, tls, givenBy, caGivenBy }: ListeningAddress, at: string, code: string): Finding {
  const reasons: [RegExp, what: string, mend: string][] = [
    [/HAS_EXPIRED/, 'has an expired certificate', `renew the certificate of ${host}`],
    [/ALTNAME/, `has a certificate for another name than ${host}`, `use a name in ${givenBy} that the certificate has`],
    [
      /SELF_SIGNED|UNABLE_TO|CERT_/,
      'has a certificate that is not trusted here',
      `${caGivenBy}=CA.pem busgate doctor, and the same for busgate run`,
    ],
    [/EPROTO|WRONG_VERSION|_SSL_|ECONNRESET/, 'does not use TLS', `check ${givenBy}: should it use TLS?`],
  ]
  const reason = tls && reasons.find(([pattern]) => pattern.test(code))
  if (reason) return failed(`${at} ${reason[1]} (${code})`, reason[2])
  return failed(`${at} refuses connections (${code})`, `nc -vz ${host} ${port}, and check ${givenBy}`)
}

/** Resolves with the end of the certificate's life; null without TLS. */
async function connect({ host, port, tls }: ListeningAddress): Promise<Date | null> {
  const socket: Socket = tls
    ? tlsConnect({ ...verifiedTls, ...(tls === true ? {} : tls), host, port, ...(!isIP(host) && { servername: host }) })
    : tcpConnect({ host, port })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })), limitMs)
  socket.once(tls ? 'secureConnect' : 'connect', resolve)
  socket.once('error', reject)
  socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
  try {
    await promise
    return tls ? new Date((socket as TLSSocket).getPeerCertificate().valid_to) : null
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** The code of an error; where several addresses were tried, that of the first one. */
function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: string; errors?: { code?: string }[] }
  return code ?? errors?.[0]?.code ?? (error as Error).message
}
