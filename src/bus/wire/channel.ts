import { Connection } from '@platformatic/kafka'
import type { Clock } from '../../clock.ts'
import type { Api } from './api.ts'
import { apiVersions, type VersionRange, type Versions } from './cluster-apis.ts'
import { type Address, type Connect, connectLimitMs, optionsOf, type Security } from './connecting.ts'
import { protocolError, translated, Unanswered } from './errors.ts'

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

const unsupportedVersion = 35
const neverAdvertised: VersionRange = { min: 0, max: -1 }

/** One connection to one broker, and what that broker speaks. */
export class Channel {
  readonly #options: ChannelOptions
  readonly #connection: Connection
  readonly #where: string
  readonly #opened = Promise.withResolvers<void>()
  #versions: Versions = { errorCode: 0, ranges: new Map(), features: new Map() }
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

  get features(): ReadonlyMap<string, number> {
    return this.#versions.features
  }

  speaks(key: number): VersionRange {
    return this.#versions.ranges.get(key) ?? neverAdvertised
  }

  /** The newest version that both speak, or null. */
  versionOf({ key, versions: [min, max] }: Pick<Api<never, unknown>, 'key' | 'versions'>): number | null {
    const theirs = this.speaks(key)
    const newest = Math.min(max, theirs.max)
    return newest >= Math.max(min, theirs.min) ? newest : null
  }

  /**
   * A request that is not answered in time takes the connection out of use, because what is behind it would not be
   * answered either; others that wait for an answer keep it until they have one.
   */
  async ask<Q, A>(api: Api<Q, A>, request: Q, limitMs: number): Promise<A> {
    const version = this.versionOf(api)
    if (version === null) throw protocolError(unsupportedVersion, `${this.#where} does not understand ${api.name}`)
    this.#inFlight++
    try {
      return await this.#inTime(this.#send(api, version, request), limitMs, api.name)
    } catch (error) {
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
    this.#versions = await this.#inTime(this.#askVersions(), connectLimitMs, apiVersions.name)
  }

  async #askVersions(): Promise<Versions> {
    const request = { software: 'busgate' }
    const versions = await apiVersions.ask(this.#connection, apiVersions.versions[1], request)
    const known =
      versions.errorCode === unsupportedVersion ? await apiVersions.ask(this.#connection, 0, request) : versions
    if (known.errorCode) throw protocolError(known.errorCode)
    return known
  }

  /** Waits while the connection signs in anew: a request sent meanwhile gets ILLEGAL_SASL_STATE. */
  async #send<Q, A>(api: Api<Q, A>, version: number, request: Q): Promise<A> {
    while (this.#connection.status === 'reauthenticating') await this.#connection.ready()
    return api.ask(this.#connection, version, request)
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
