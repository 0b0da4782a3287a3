import type { SendType } from './registry.ts'

/** Seconds that a channel tries to deliver when a message does not say (specification: Limits, lifetimes). */
export const defaultLifetime = 172_800

/**
 * Seconds from sending until the gateway must have come to a verdict: the channels of a chain are tried one after the
 * other, so their lifetimes add up.
 * @param operation the operation object
 */
export function lifetimeOf(type: SendType, operation: Readonly<Record<string, unknown>>): number {
  const channels = Array.isArray(operation.pipeline) ? operation.pipeline : type.split('+')
  return channels.reduce((sum: number, channel) => sum + (ownLifetime(operation, channel) ?? defaultLifetime), 0)
}

function ownLifetime(operation: Readonly<Record<string, unknown>>, channel: string): number | null {
  const part = operation[channel]
  const nested = typeof part === 'object' && part !== null ? (part as { lifetime?: unknown }).lifetime : undefined
  const seconds = operation[`${channel}_lifetime`] ?? nested
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : null
}
