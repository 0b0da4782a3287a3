import { request } from 'undici'
import { type AccountSettings, type Settings, variableOf } from '../../config/index.ts'
import { dispatchTo, isProxied } from '../../gateway/dispatching.ts'
import { AccessDeniedError, type GatewayError } from '../../gateway/errors.ts'
import { safeText } from '../../telemetry/error.ts'
import { clientFor } from '../gateway/client.ts'
import { apiKeyPath } from '../settings.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'
import { addressOf, reach, reached } from './reach.ts'

const limitMs = 4000

export const gateway = check({
  name: 'gateway',
  about: "The gateway's name, connection and certificate; if HTTPS_PROXY is set, that it answers through the proxy.",
  needs: ['settings'],
  async look({ settings }) {
    const { url, ssl } = settings.gateway
    if (url === undefined) return { findings: [skipped('gateway.url is not set')] }
    const place = addressOf(url, {
      givenBy: variableOf('gateway.url'),
      caGivenBy: `${variableOf('gateway.ssl.ca')}_FILE`,
    })
    const tls = place.tls && ssl.ca ? { ca: ssl.ca.reveal() } : place.tls
    const finding = await (isProxied(url) ? answers(url, settings) : reach({ ...place, tls }))
    return { findings: [finding], ...(reached(finding) && { facts: { gateway: url } }) }
  },
})

/** Asks the gateway by the way that requests take. Whatever it answers, it was reached. */
async function answers(url: string, settings: Settings): Promise<Finding> {
  const { host } = new URL(url)
  try {
    await askHead(url, settings)
    return ok(`${host} answers, through HTTPS_PROXY and NO_PROXY`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return failed(
      `${host} cannot be reached through HTTPS_PROXY and NO_PROXY (${safeText([code, message].filter(Boolean).join(': '))})`,
      `curl -I ${url}, and check HTTPS_PROXY, NO_PROXY and ${variableOf('gateway.url')}`,
    )
  }
}

async function askHead(url: string, { gateway }: Settings): Promise<void> {
  const { dispatcher, close } = dispatchTo({ origin: new URL(url).origin, connections: 1, ca: gateway.ssl.ca })
  try {
    const signal = AbortSignal.timeout(limitMs)
    await request(url, { method: 'HEAD', dispatcher: dispatcher(), signal })
  } finally {
    await close()
  }
}

export const accounts = check({
  name: 'accounts',
  about: "The gateway accepts every account's API key, and each account has a balance above 0.",
  needs: ['settings', 'gateway'],
  async look({ settings }) {
    const given = [...settings.gateway.accounts]
    if (given.length === 0) return { findings: [skipped('no account has a key')] }
    return { findings: await Promise.all(given.map(([name, account]) => ofAccount(settings, name, account))) }
  },
})

async function ofAccount({ gateway }: Settings, name: string, account: AccountSettings): Promise<Finding> {
  const client = clientFor({ ...gateway, url: gateway.url! }, account, { timeoutMs: limitMs, connections: 1 })
  try {
    const { amount, currency } = (await client.balance()) as { amount?: unknown; currency?: unknown }
    if (typeof amount !== 'number') return ok(`${name}: its key is accepted; the gateway reports no balance`)
    const told = `${name}: its key is accepted; ${amount} ${typeof currency === 'string' ? currency : ''}`.trim()
    return amount > 0
      ? ok(told)
      : warning(told, `top up the account ${name}: without a balance the gateway refuses messages`)
  } catch (error) {
    return refused(name, error as GatewayError)
  } finally {
    await client.close()
  }
}

function refused(name: string, error: GatewayError): Finding {
  const variable = variableOf(apiKeyPath(name))
  if (error instanceof AccessDeniedError) {
    return failed(
      `${name}: the gateway refuses its key`,
      `put the key of the account into ${variable} or ${variable}_FILE`,
    )
  }
  return failed(`${name}: ${safeText(error.message)} (${error.code})`, `busgate gateway balance --account ${name}`)
}
