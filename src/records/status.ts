import type { StatusEvent } from './generated.ts'
import type { Shortening } from './shorten.ts'

const tellable = ['replies', 'reply', 'requestId', 'msgId', 'correlationId', 'tenant'] as const
const needed = ['error', 'status', 'type', 'account'] as const

/** How a status event becomes shorter. What it means for which message is told by each. */
export const statusShortenings: readonly Shortening<StatusEvent>[] = [
  { out: ['replies'], longest: 512 },
  { out: tellable, cut: needed, longest: 512 },
  { out: tellable, cut: needed, longest: 64 },
]
