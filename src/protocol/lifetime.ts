import type { SendOperation } from './operation.ts'
import { operations, type SendType, sendTypes } from './registry.ts'

/** Default delivery time in seconds: specified for SMS, RCS and Telegram (Limits), assumed for other channels. */
const defaultLifetime = 172_800

const fieldsOf = ({ channels }: SendOperation) => channels?.map(channel => `${channel}_lifetime`) ?? null

/** Fields with a message's lifetime, by type; null if each stage has its own. */
const lifetimeFields = new Map(sendTypes.map(type => [type, fieldsOf(operations[type])]))

/** The lifetime, in seconds, of a message of this type without its own. */
export const usualLifetime = (type: SendType): number => (lifetimeFields.get(type)?.length ?? 1) * defaultLifetime

/**
 * Returns the lifetime that a message sets, in seconds; null if it sets none. In a chain the channels' lifetimes add up,
 * because they are tried one after the other.
 * @param operation the operation object
 */
export function lifetimeOf(type: SendType, operation: Readonly<Record<string, unknown>>): number | null {
  const fields = lifetimeFields.get(type)
  if (!fields) return lifetimeOfStages(operation)
  if (fields.every(field => operation[field] === undefined)) return null
  return fields.reduce((sum, field) => sum + (seconds(operation[field]) ?? defaultLifetime), 0)
}

function lifetimeOfStages(operation: Readonly<Record<string, unknown>>): number {
  const channels = Array.isArray(operation.pipeline) ? operation.pipeline : []
  return channels.reduce((sum: number, channel) => {
    const part = operation[channel] as { lifetime?: unknown } | null | undefined
    return sum + (seconds(part?.lifetime) ?? defaultLifetime)
  }, 0)
}

const seconds = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null
