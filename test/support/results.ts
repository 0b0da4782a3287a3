import type { SendResult } from '../../src/records/generated.ts'

/** Builds the final result of an SMS that was sent. */
export function buildResult(overrides: Partial<SendResult> = {}): SendResult {
  return {
    id: 1001n,
    type: 'sms',
    account: 'default',
    outcome: 'SENT',
    final: true,
    msgId: 'gw-1',
    parts: 1,
    errorCode: null,
    error: null,
    code: null,
    price: null,
    hlr: null,
    payload: null,
    attempts: 1,
    commandTopic: 'busgate.commands',
    commandPartition: 0,
    commandOffset: 0,
    sentAt: 1_763_000_000_000,
    completedAt: 1_763_000_000_050,
    correlationId: null,
    tenant: null,
    campaign: null,
    hooked: true,
    commandAt: 1_762_999_999_000,
    country: 'UA',
    ...overrides,
  }
}
