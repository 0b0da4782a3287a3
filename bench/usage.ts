/** Somebody has to ask otherwise; the message says how. */
export class UsageError extends Error {}
