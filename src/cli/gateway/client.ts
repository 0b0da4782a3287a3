import type { AccountSettings, Settings } from '../../config/index.ts'
import { GatewayClient } from '../../gateway/client.ts'
import type { GatewayClientOptions } from '../../gateway/options.ts'

/** Options that the settings decide. The compiler asks here for a new one, unless it is named among those that they do not. */
type FromSettings = Required<
  Omit<GatewayClientOptions, 'apiKey' | 'asyncUrl' | 'connections' | 'retries' | 'maxResponseBytes' | 'onRequest'>
>

/** A client of one account, on the way to the gateway that the settings name. @param options win over the settings */
export function clientFor(
  { url, ssl, timeoutMs, keepAliveMs, errorTexts }: Settings['gateway'] & { url: string },
  { apiKey }: Pick<AccountSettings, 'apiKey'>,
  options: Partial<GatewayClientOptions> = {},
): GatewayClient {
  const own: FromSettings = { url, ca: ssl.ca, timeoutMs, keepAliveMs, errorTexts }
  return new GatewayClient({ ...own, apiKey, ...options })
}
