/** What operators can pause. */
export const pausableKinds = ['account', 'topic', 'campaign', 'tenant'] as const

/** What can be paused: by operators, or an account by its quiet hours. */
export const pauseKinds = [...pausableKinds, 'quiet_hours'] as const

/** What operators can withdraw: the messages of one of these, or one message. */
export const withdrawalKinds = ['campaign', 'message', 'correlation_id', 'tenant'] as const

/** One of `pauseKinds`. */
export type PauseKind = (typeof pauseKinds)[number]

/** One of `withdrawalKinds`. */
export type WithdrawalKind = (typeof withdrawalKinds)[number]
