import { onTestFinished } from 'vitest'
import { GatewayClient, type GatewayClientOptions, type GatewayError } from '../../src/index.ts'

/** A client for one test, with the key that a sandbox accepts. */
export function clientFor(url: string, options: Partial<GatewayClientOptions> = {}): GatewayClient {
  const client = new GatewayClient({ url, apiKey: 'sandbox-key', ...options })
  onTestFinished(() => client.close())
  return client
}

/** The error that a call ends with; fails when it ends well. */
export async function failureOf(call: Promise<unknown>): Promise<GatewayError> {
  return call.then(
    () => Promise.reject(new Error('the call ended well')),
    error => error,
  )
}
