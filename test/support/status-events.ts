import { pollStateOf } from '../../src/protocol/index.ts'
import type { StatusEvent } from '../../src/records/generated.ts'

/** Builds the event of a verified callback, by default DELIVERED. `state` and `final` follow from the status. */
export function buildStatusEvent(overrides: Partial<StatusEvent> = {}): StatusEvent {
  const status = overrides.status ?? 'DELIVERED'
  const { state, final } = pollStateOf(status)
  return {
    id: 1001n,
    msgId: 'gw-1',
    account: 'default',
    type: 'sms',
    status,
    state,
    final,
    success: state === 'DELIVERED',
    error: null,
    source: 'CALLBACK',
    verified: true,
    updatedAt: null,
    receivedAt: 1_763_000_000_000,
    reply: null,
    duration: null,
    requestId: null,
    replies: [],
    correlationId: null,
    tenant: null,
    campaign: null,
    commandType: 'sms',
    country: 'UA',
    eventId: 'e-1',
    extra: null,
    ...overrides,
  }
}
