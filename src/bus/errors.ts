/** The brokers could not be reached: nothing is known of what was asked. Try again. */
export class BusUnavailable extends Error {
  override readonly name = 'BusUnavailable'
}
