import { type API, apiVersionsV3, Connection } from '@platformatic/kafka'
import type { Clock } from '../../clock.ts'
import { type Api, offsetFetch } from './apis.ts'
import { type Address, type Connect, connectLimitMs, optionsOf, type Security } from './connecting.ts'
import { ProtocolError, partialAnswer, protocolError, translated, Unanswered } from './errors.ts'

export interface ChannelOptions {
  clientId: string
  address: Address
  security: Security
  clock: Clock
  connect: Connect
  /** The channel takes no more requests. Called once. */
  onEnd(): void
  /** Nothing is under way any more. */
  onClosed(): void
}

interface VersionRange {
  min: number
  max: number
}

const unsupportedVersion = 35
const neverAdvertised: VersionRange = { min: 0, max: -1 }

/** One connection to one broker, and what that broker speaks. */
export class Channel {
  readonly #options: ChannelOptions
  readonly #connection: Connection
  readonly #where: string
  readonly #opened = Promise.withResolvers<void>()
  /** The versions that the broker speaks, by the key of the API. */
  #versions = new Map<number, VersionRange>()
  #inFlight = 0
  #ended = false
  #closed = false

  constructor(options: ChannelOptions) {
    const { clientId, address, security } = options
    this.#options = options
    this.#where = `${address.host}:${address.port}`
    this.#connection = new Connection(clientId, optionsOf(security, address))
    this.#connection.on('error', error => this.#end(translated(error, this.#where)))
    this.#connection.on('close', () => this.#end())
    this.#opened.promise.catch(() => {}) // whoever waits for it is told
    this.#open().then(
      () => this.#opened.resolve(),
      error => this.#end(translated(error, this.#where)),
    )
  }

  /** Resolves when requests may be sent. */
  get opened(): Promise<void> {
    return this.#opened.promise
  }

  get address(): Address {
    return this.#options.address
  }

  /** Tells whether it takes no request any more. */
  get ended(): boolean {
    return this.#ended
  }

  /** The newest version that both speak, or null. */
  versionOf<V extends { version: number }>({ key, versions }: { key: number; versions: readonly V[] }): V | null {
    const { min, max } = this.#versions.get(key) ?? neverAdvertised
    return versions.findLast(({ version }) => version >= min && version <= max) ?? null
  }

  /**
   * A request that is not answered in time takes the connection out of use, because what is behind it would not be
   * answered either; others that wait for an answer keep it until they have one.
   */
  async ask<Q extends unknown[], A>(api: Api<Q, A>, request: Q, limitMs: number): Promise<A> {
    const version = this.versionOf(api)
    if (version === null) throw protocolError(unsupportedVersion, `${this.#where} does not understand ${api.name}`)
    this.#inFlight++
    try {
      return await this.#inTime(this.#send(version, request), limitMs, api.name)
    } catch (error) {
      const answer = api.isPartial ? partialAnswer(error) : undefined
      if (answer !== undefined) return answer as A
      throw translated(error, this.#where)
    } finally {
      this.#inFlight--
      if (this.#ended && this.#inFlight === 0) this.#dispose()
    }
  }

  /** Takes no more requests, and is closed when those under way have ended. */
  retire(): void {
    this.#end()
  }

  /** Ends what is under way, too. */
  close(): void {
    this.#end()
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
    if (!this.#versions.has(offsetFetch.key)) throw this.#noBroker()
    if (this.versionOf(offsetFetch) === null) throw this.#tooOld()
  }

  /** Controllers answer, but keep no group's offsets. */
  #noBroker(): ProtocolError {
    const text = `${this.#where} is not a broker, but perhaps a KRaft controller`
    return protocolError(unsupportedVersion, text)
  }

  #tooOld(): ProtocolError {
    const text = `${this.#where} is older than Apache Kafka 3.0, the oldest that busgate works with: upgrade it`
    return protocolError(unsupportedVersion, text)
  }

  /** Waits while the connection signs in anew: a request sent meanwhile gets ILLEGAL_SASL_STATE. */
  async #send<Q extends unknown[], A>(api: API<Q, A>, request: Q): Promise<A> {
    while (this.#connection.status === 'reauthenticating') await this.#connection.ready()
    return api.async(this.#connection, ...request)
  }

  #inTime<T>(work: Promise<T>, limitMs: number, name: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(limitMs, () => {
        const late = this.#lost(`no answer to ${name} within ${(limitMs / 1000).toFixed(1)} s`)
        reject(late)
        this.#end(late)
      })
      work.then(resolve, reject).finally(cancel)
    })
  }

  #end(error: Error = this.#lost('the connection was closed')): void {
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
    void this.#connection.close() // ends its timer, too; what it has to say to a silent peer is not waited for
    this.#connection.socket?.destroy()
  }

  #lost(text: string): Unanswered {
    return new Unanswered(`${this.#where}: ${text}`)
  }
}
