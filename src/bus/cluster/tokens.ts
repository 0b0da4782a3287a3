import type { Agent } from 'undici'
import { type Clock, stopwatch } from '../../clock.ts'
import { type Settings, verifiedTls } from '../../config/index.ts'
import { readText } from '../../growing-buffer.ts'
import { Unanswered } from './errors.ts'

type OauthSettings = Extract<Settings['kafka']['sasl'], { mechanism: 'oauthbearer' }>
export type TokenSource = Pick<OauthSettings, 'tokenEndpoint' | 'clientId' | 'clientSecret'> &
  Partial<Pick<OauthSettings, 'scope' | 'audience' | 'resource'>>

/** Shorter than the time-out of a connection, which waits for the token. */
const limitMs = 2_500
/** Fraction of a token's life after which it is renewed, so that a session does not begin with an expiring token. */
const usedPart = 0.8
/** Tokens with many claims take some 10 KB. */
const longestAnswer = 256 * 1024
/** Assumed lifetime if the endpoint does not state one. */
const usualLifeMs = 60_000

/** Fetches access tokens with client credentials (RFC 6749, 4.4) and caches each until shortly before it expires. */
export class Tokens {
  readonly #source: TokenSource
  readonly #clock: Clock
  #dispatcher: Agent | null = null
  #kept: { token: string; age: () => number; forMs: number } | null = null
  #asking: Promise<string> | null = null

  constructor(source: TokenSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /** @throws Unanswered when the endpoint cannot be reached; Error when it refuses */
  get(): Promise<string> {
    if (this.#kept && this.#kept.age() < this.#kept.forMs) return Promise.resolve(this.#kept.token)
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #ask(): Promise<string> {
    const age = stopwatch(this.#clock)
    const { access_token: token, expires_in: seconds } = await this.#answer()
    const lifeMs = Number(seconds) > 0 ? Number(seconds) * 1000 : usualLifeMs
    this.#kept = { token, age, forMs: usedPart * lifeMs }
    return token
  }

  async #answer(): Promise<{ access_token: string; expires_in?: unknown }> {
    const { tokenEndpoint } = this.#source
    const { statusCode, text } = await this.#post().catch((cause: Error) => {
      throw new Unanswered(`the token endpoint ${tokenEndpoint} does not answer: ${cause.message}`, { cause })
    })
    if (statusCode >= 500) throw new Unanswered(`the token endpoint ${tokenEndpoint} answers ${statusCode}`)
    const answer = parsed(text)
    if (typeof answer.access_token === 'string') return { ...answer, access_token: answer.access_token }
    const why = `${statusCode}${typeof answer.error === 'string' ? `, ${answer.error}` : ''}`
    throw new Error(
      `the token endpoint ${tokenEndpoint} refuses a token (${why}): check kafka.sasl.clientId, .clientSecret, .scope, .audience and .resource`,
    )
  }

  async #post(): Promise<{ statusCode: number; text: string }> {
    const { Agent, request } = await import('undici')
    this.#dispatcher ??= new Agent({ connect: verifiedTls })
    const { tokenEndpoint, clientId, clientSecret, scope, audience, resource } = this.#source
    const asked = { ...(scope && { scope }), ...(audience && { audience }), ...(resource && { resource }) }
    const login = [clientId, clientSecret.reveal()].map(encodeURIComponent).join(':')
    const { statusCode, body } = await request(tokenEndpoint, {
      method: 'POST',
      dispatcher: this.#dispatcher,
      headers: {
        authorization: `Basic ${Buffer.from(login).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: String(new URLSearchParams({ grant_type: 'client_credentials', ...asked })),
      signal: AbortSignal.timeout(limitMs),
    })
    return { statusCode, text: await readText(body, longestAnswer) }
  }
}

/** Parses an answer as JSON; anything else holds no token. */
function parsed(text: string): { access_token?: unknown; expires_in?: unknown; error?: unknown } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
