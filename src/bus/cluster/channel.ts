import { type API, apiVersionsV3, Connection } from '@platformatic/kafka'
import type { Clock } from '../../clock.ts'
import { type Api, offsetFetch } from './apis.ts'
import { type Address, type Connect, connectLimitMs, optionsOf, type Security } from './connecting.ts'
import { codeNamed, ProtocolError, partialAnswer, protocolError, translated, Unanswered } from './errors.ts'

export interface ChannelOptions {
  clientId: string
  address: Address
  security: Security
  clock: Clock
  connect: Connect
  /** Called once, when the channel accepts no more requests. */
  onEnd(): void
  /** Called when no request is in flight any more. */
  onClosed(): void
}

interface VersionRange {
  min: number
  max: number
}

const unsupportedVersion = codeNamed('UNSUPPORTED_VERSION')
const neverAdvertised: VersionRange = { min: 0, max: -1 }

/** One connection to one broker, with the API versions that the broker supports. */
export class Channel {
  readonly #options: ChannelOptions
  readonly #connection: Connection
  readonly #where: string
  readonly #opened = Promise.withResolvers<void>()
  readonly opened = this.#opened.promise
  #versions = new Map<number, VersionRange>()
  /** Until then the broker reads no request from this connection, because of a quota (KIP-219). Monotonic milliseconds. */
  #mutedUntil = Number.NEGATIVE_INFINITY
  #inFlight = 0
  #ended = false
  #closed = false

  constructor(options: ChannelOptions) {
    const { clientId, address, security } = options
    this.#options = options
    this.#where = `${address.host}:${address.port}`
    this.#connection = new Connection(clientId, optionsOf(security, address))
    this.#connection.on('error', error => this.retire(translated(error, this.#where)))
    this.#connection.on('close', () => this.retire())
    this.opened.catch(() => {}) // callers of `opened` get the error
    this.#open().then(
      () => this.#opened.resolve(),
      error => this.retire(translated(error, this.#where)),
    )
  }

  get address(): Address {
    return this.#options.address
  }

  /** The newest version that both sides support, or null. */
  versionOf<V extends { version: number }>({ key, versions }: { key: number; versions: readonly V[] }): V | null {
    const { min, max } = this.#versions.get(key) ?? neverAdvertised
    return versions.findLast(({ version }) => version >= min && version <= max) ?? null
  }

  /**
   * Sends a request. Its time-out begins when the broker reads requests again. A time-out retires the connection, because later
   * requests on it would not be answered either; requests already in flight keep it until they end.
   */
  async ask<Q extends unknown[], A>(api: Api<Q, A>, request: Q, limitMs: number): Promise<A> {
    const version = this.versionOf(api)
    if (version === null) throw protocolError(unsupportedVersion, `${this.#where} does not understand ${api.name}`)
    this.#inFlight++
    try {
      const answer = await this.#inTime(this.#send(version, request), limitMs, api.name).catch(error => {
        const partial = api.isPartial ? partialAnswer(error) : undefined
        if (partial === undefined) throw translated(error, this.#where)
        return partial as A
      })
      this.#noteThrottling(answer)
      return answer
    } finally {
      this.#inFlight--
      if (this.#ended && this.#inFlight === 0) this.#dispose()
    }
  }

  /** Closes at once; requests in flight fail. */
  close(): void {
    this.retire()
    this.#dispose()
  }

  async #open(): Promise<void> {
    const { connect, address } = this.#options
    await connect(this.#connection, address)
    const asked = apiVersionsV3.api.async(this.#connection, 'busgate', '1')
    const { apiKeys } = await this.#inTime(asked, connectLimitMs, 'ApiVersions').catch(error => {
      const refused = translated(error, this.#where)
      throw refused instanceof ProtocolError && refused.code === unsupportedVersion ? this.#tooOld() : refused
    })
    this.#versions = new Map(apiKeys.map(({ apiKey, minVersion: min, maxVersion: max }) => [apiKey, { min, max }]))
    if (!this.#versions.has(offsetFetch.key)) {
      throw protocolError(unsupportedVersion, `${this.#where} is not a broker, but perhaps a KRaft controller`)
    }
    if (this.versionOf(offsetFetch) === null) throw this.#tooOld()
  }

  #tooOld(): ProtocolError {
    const text = `${this.#where} is older than Apache Kafka 3.0, the oldest that busgate works with: upgrade it`
    return protocolError(unsupportedVersion, text)
  }

  /** Waits for a re-authentication to end: a request during it fails with ILLEGAL_SASL_STATE. */
  async #send<Q extends unknown[], A>(api: API<Q, A>, request: Q): Promise<A> {
    while (this.#connection.status === 'reauthenticating') await this.#connection.ready()
    return api.async(this.#connection, ...request)
  }

  /** @param answer of any request; all but ApiVersions have the field */
  #noteThrottling(answer: unknown): void {
    const { throttleTimeMs = 0 } = answer as { throttleTimeMs?: number }
    if (throttleTimeMs > 0) this.#mutedUntil = this.#options.clock.monotonic() + throttleTimeMs
  }

  #inTime<T>(work: Promise<T>, limitMs: number, name: string): Promise<T> {
    const { clock } = this.#options
    return new Promise((resolve, reject) => {
      const wait = (ms: number) =>
        clock.after(ms, () => {
          const left = this.#mutedUntil + limitMs - clock.monotonic()
          if (left > 0) {
            cancel = wait(left)
            return
          }
          const late = this.#lost(`no answer to ${name} within ${(limitMs / 1000).toFixed(1)} s`)
          reject(late)
          this.retire(late)
        })
      let cancel = wait(limitMs)
      work.then(resolve, reject).finally(() => cancel())
    })
  }

  /** Accepts no more requests; closes once those in flight have ended. */
  retire(error: Error = this.#lost('the connection was closed')): void {
    if (this.#ended) return
    this.#ended = true
    this.#opened.reject(error)
    this.#options.onEnd()
    if (this.#inFlight === 0) this.#dispose()
  }

  #dispose(): void {
    if (this.#closed) return
    this.#closed = true
    this.#options.onClosed()
    void this.#connection.close() // also stops the library's timer; not awaited, since the peer may be silent
    this.#connection.socket?.destroy()
  }

  #lost(text: string): Unanswered {
    return new Unanswered(`${this.#where}: ${text}`)
  }
}
