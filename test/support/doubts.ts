import type { Doubt } from '../../src/records/generated.ts'

export function buildDoubt(overrides: Partial<Doubt> = {}): Doubt {
  return {
    topic: 'commands',
    partition: 0,
    offset: 0,
    timestamp: 0,
    key: null,
    value: Buffer.alloc(0),
    headers: [],
    account: 'default',
    attempts: 1,
    postedAt: 0,
    postedSince: null,
    cause: 'timeout',
    type: 'sms',
    correlationId: null,
    tenant: null,
    campaign: null,
    omitted: null,
    ...overrides,
  }
}
