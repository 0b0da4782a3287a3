import { request } from 'undici'
import { type Settings, variableOf } from '../../config/index.ts'
import { dispatchTo, isProxied } from '../../gateway/dispatching.ts'
import { safeText } from '../../telemetry/error.ts'
import { check, type Finding, failed, ok, skipped } from './check.ts'
import { addressOf, reach, reached } from './reach.ts'

const limitMs = 4000

export const gateway = check({
  name: 'gateway',
  about: "The gateway's name, connection and certificate; where HTTPS_PROXY is set, that it answers by that way.",
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
    await headersOf(url, settings)
    return ok(`${host} answers, by the way that HTTPS_PROXY and NO_PROXY say`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return failed(
      `${host} is not reached by the way that HTTPS_PROXY and NO_PROXY say (${safeText([code, message].filter(Boolean).join(': '))})`,
      `curl -I ${url}, and check HTTPS_PROXY, NO_PROXY and ${variableOf('gateway.url')}`,
    )
  }
}

/** Asks the gateway for the headers with which it answers HEAD. */
export async function headersOf(url: string, { gateway }: Settings): Promise<Record<string, unknown>> {
  const { dispatcher, close } = dispatchTo({ origin: new URL(url).origin, connections: 1, ca: gateway.ssl.ca })
  try {
    const signal = AbortSignal.timeout(limitMs)
    const { headers } = await request(url, { method: 'HEAD', dispatcher: dispatcher(), signal })
    return headers
  } finally {
    await close()
  }
}
