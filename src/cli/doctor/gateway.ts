import { type AccountSettings, keyPlaceOf, type Settings } from '../../config/index.ts'
import { signInRefused } from '../../gateway/classify.ts'
import { GatewayClient } from '../../gateway/client.ts'
import { AccessDeniedError, type GatewayError, RefusedError } from '../../gateway/errors.ts'
import type { GatewayClientOptions } from '../../gateway/options.ts'
import { apiPath } from '../../protocol/envelope.ts'
import { shellFlag } from '../../shell.ts'
import { safeText } from '../../telemetry/error.ts'
import { check, type Finding, failed, named, notSet, ok, skipped, warning } from './check.ts'

const limitMs = 4000

export const gateway = check({
  name: 'gateway',
  about:
    "The gateway answers and accepts an account's API key; further keys that it does not accept are warnings. Each account has a balance above 0.",
  needs: ['settings'],
  async look({ settings }) {
    const { url, accounts } = settings.gateway
    if (url === undefined) return { findings: [notSet('gateway.url', 'no key can be tried')] }
    if (accounts.size === 0) return { findings: [skipped('no account has a key')] }
    const looks = [...accounts].map(([name, account]) => ofAccount({ ...settings.gateway, url }, name, account))
    const seen = await Promise.all(looks)
    const keys = new Map(seen.flatMap(({ name, accepted }) => (accepted === null ? [] : [[name, accepted]])))
    const someWork = [...keys.values()].includes(true)
    return { findings: seen.map(({ finding }) => (someWork ? asWarning(finding) : finding)), facts: { keys } }
  },
})

/** One account must not stop the others: workers start as soon as one key is accepted. */
const asWarning = (one: Finding): Finding => (one.state === 'failed' ? { ...one, state: 'warning' } : one)

interface Seen {
  name: string
  /** Whether the gateway accepts the key; null if it did not say. */
  accepted: boolean | null
  finding: Finding
}

async function ofAccount(
  gateway: Settings['gateway'] & { url: string },
  name: string,
  account: AccountSettings,
): Promise<Seen> {
  await using client = clientFor(gateway, account, { timeoutMs: limitMs, connections: 1 })
  try {
    return { name, accepted: true, finding: ofBalance(name, await client.balance()) }
  } catch (error) {
    const finding = refused(name, account, gateway.url, error as GatewayError)
    return { name, accepted: acceptedDespite(error), finding }
  }
}

function ofBalance(name: string, { amount, currency }: Awaited<ReturnType<GatewayClient['balance']>>): Finding {
  if (typeof amount !== 'number') {
    return ok(`${name}: its key is accepted; the gateway reports no balance that can be read`)
  }
  const told = `${name}: its key is accepted; ${amount} ${typeof currency === 'string' ? currency : ''}`.trim()
  return amount > 0
    ? ok(told)
    : warning(told, `top up the account ${name}: without a balance the gateway refuses messages`)
}

/** A refusal whose text is known concerns the question, so the key was accepted. */
const isRefusedQuestion = (error: unknown): boolean => error instanceof RefusedError && error.code !== 'REJECTED'

function acceptedDespite(error: unknown): boolean | null {
  if (error instanceof AccessDeniedError) return false
  return isRefusedQuestion(error) ? true : null
}

function refused(name: string, account: AccountSettings, url: string, error: GatewayError): Finding {
  const told = `${name}: ${safeText(error.message)}`
  if (error instanceof AccessDeniedError) {
    return failed(
      `${name}: the gateway refuses its key`,
      `put the key of the account into ${keyPlaceOf(name, account)}`,
    )
  }
  if (isRefusedQuestion(error)) {
    const said = `${name}: its key is accepted, but not its question for the balance: ${safeText(error.message)}`
    return warning(said, `ask the gateway's operator whether the account ${name} may send`)
  }
  const [, status] = /^HTTP (\d{3})\b/.exec(error.message) ?? []
  if (signInRefused.includes(Number(status))) {
    return failed(
      told,
      `put the key of the account into ${keyPlaceOf(name, account)}, and check HTTPS_PROXY and NO_PROXY`,
    )
  }
  const { pathname } = new URL(url)
  if (status === '404' && pathname !== '/') {
    const mend = `leave the path ${pathname} out of ${named('gateway.url')}, unless a proxy needs it: busgate appends ${apiPath}`
    return failed(told, mend)
  }
  const settings = ['gateway.url', 'gateway.ssl.ca'] as const
  const mend = `busgate gateway balance ${shellFlag('account', name)}, and check ${settings.map(named).join(', ')}, HTTPS_PROXY and NO_PROXY`
  return failed(`${told} (${error.code})`, mend)
}

/** Options that the settings determine. A new client option is a type error here until it is either set or excluded. */
type FromSettings = Required<
  Omit<GatewayClientOptions, 'apiKey' | 'asyncUrl' | 'connections' | 'retries' | 'maxResponseBytes' | 'onRequest'>
>

/** A client of one account for the configured gateway. @param options override the settings */
export function clientFor(
  { url, ssl, timeoutMs, keepAliveMs, errorTexts, allowEmpty }: Settings['gateway'] & { url: string },
  { apiKey }: Pick<AccountSettings, 'apiKey'>,
  options: Partial<GatewayClientOptions> = {},
): GatewayClient {
  const own: FromSettings = { url, ca: ssl.ca, timeoutMs, keepAliveMs, errorTexts, allowEmpty }
  return new GatewayClient({ ...own, apiKey, ...options })
}
