/*
 * Upper bounds of the histograms' buckets, dense where a decision falls.
 */

/** Operations in an envelope: 1-2-5 steps past the default bound of 100, so that "full", "half empty" and "lone" tell apart. */
export const envelopeOperations = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** One request to the gateway, in seconds: from a gateway next door to the default time-out of 30 s and twice that. */
export const requestSeconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60]

/** One transaction, in seconds: a few milliseconds where brokers are near, seconds where one of them moves. */
export const commitSeconds = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]

/** Waiting for an account's rate, in seconds: below 20 ms it hides in the envelope's linger, past minutes the rate is too low. */
export const rateWaitSeconds = [0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900]

/**
 * Buckets of the time from sending to the final status, in seconds: a code should arrive within 10 s; the longest life
 * of a message is 3 days.
 */
export const deliverySeconds = [1, 2, 5, 10, 20, 30, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 259_200]
