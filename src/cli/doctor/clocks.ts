import { Agent, request } from 'undici'
import { type Settings, tlsOf } from '../../config/index.ts'
import { check, type Finding, failed, ok, skipped, warning, without } from './check.ts'
import { headersOf } from './gateway.ts'

const limitMs = 4000
/** Deadlines and ages are told in the clocks of producers, brokers and this machine. */
const noticeableMs = 2000
const harmfulMs = 30_000
/** HTTP dates name whole seconds. */
const halfASecond = 500

export const clocks = check({
  name: 'clocks',
  about:
    "This machine's clock against those of the gateway and the registry (their Date headers) and of the brokers (the beginning of the aborted transaction). Deadlines and the maximum age depend on it.",
  needs: ['settings'],
  async look({ settings, gateway, registry, brokersAheadMs }) {
    const findings = await Promise.all([
      gateway === undefined ? skipped(without.gateway) : ofServer('the gateway', () => headersOf(gateway, settings)),
      registry === undefined
        ? skipped(without.registry)
        : ofServer('the registry', () => headersAt(settings.registry.url!, settings)),
      brokersAheadMs === undefined ? skipped(without.brokersAheadMs) : judged('a broker', brokersAheadMs),
    ])
    return { findings }
  },
})

async function headersAt(url: string, { registry }: Settings): Promise<Record<string, unknown>> {
  const dispatcher = new Agent({ connect: tlsOf(registry.ssl) })
  const { headers } = await request(url, { method: 'HEAD', dispatcher, signal: AbortSignal.timeout(limitMs) })
  return headers
}

async function ofServer(name: string, head: () => Promise<Record<string, unknown>>): Promise<Finding> {
  const before = Date.now()
  try {
    const { date } = await head()
    const told = Date.parse(String(date))
    if (Number.isNaN(told)) return skipped(`${name} tells no time`)
    return judged(name, told + halfASecond - (before + Date.now()) / 2)
  } catch {
    return skipped(`${name} tells no time`)
  }
}

function judged(name: string, aheadMs: number): Finding {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1)
  if (Math.abs(aheadMs) < noticeableMs) return ok(`${name} has the same time`)
  const what = `${name} is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`
  const mend = 'timedatectl set-ntp true, on whichever machine is wrong'
  return Math.abs(aheadMs) < harmfulMs ? warning(what, mend) : failed(what, mend)
}
