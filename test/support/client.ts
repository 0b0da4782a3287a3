import { onTestFinished } from 'vitest'
import { GatewayClient, type GatewayClientOptions, type GatewayError } from '../../src/gateway/index.ts'

/** Opens a client with the sandbox's API key. It is closed at the end of the test. */
export function clientFor(url: string, options: Partial<GatewayClientOptions> = {}): GatewayClient {
  const client = new GatewayClient({ url, apiKey: 'sandbox-key', ...options })
  onTestFinished(() => client.close())
  return client
}

/** Resolves with the error of a call; rejects if the call succeeds. */
export async function failureOf(call: Promise<unknown>): Promise<GatewayError> {
  return call.then(
    () => Promise.reject(new Error('the call succeeded')),
    error => error,
  )
}
