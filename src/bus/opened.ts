/**
 * A connection to Kafka, or an embedded bus: `openBus` opens it, and `createWorker`, `createProducer` and the readers take it.
 */
export interface Bus extends AsyncDisposable {
  readonly kind: 'busgate.Bus'
  /** Closes all connections. Close first what uses them. */
  close(): Promise<void>
}
