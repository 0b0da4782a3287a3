import { type AccountSettings, type Settings, variableOf } from '../../config/index.ts'
import { AccessDeniedError, type GatewayError } from '../../gateway/errors.ts'
import { safeText } from '../../telemetry/error.ts'
import { clientFor } from '../gateway/client.ts'
import { apiKeyPath } from '../settings.ts'
import { check, type Finding, failed, ok, skipped, warning } from './check.ts'

const limitMs = 4000

export const accounts = check({
  name: 'accounts',
  about: "The gateway takes every account's API key: each is asked for its balance, and there is some.",
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
    if (typeof amount !== 'number') return ok(`${name}: its key is taken; the gateway tells no balance`)
    const told = `${name}: its key is taken; ${amount} ${typeof currency === 'string' ? currency : ''}`.trim()
    return amount > 0
      ? ok(told)
      : warning(told, `pay into the account ${name}: the gateway sends nothing without money`)
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
