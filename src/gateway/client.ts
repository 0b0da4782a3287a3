import type { OperationFields, OperationObject, OperationType, Payload } from '../protocol/index.ts'
import type { GatewayClientOptions } from './options.ts'
import type { ItemResult } from './outcome.ts'
import { type CallOptions, openTransport, type Transport } from './transport.ts'

/** The fields of an operation without its type; additional properties pass through. */
export type FieldsOf<T extends OperationType> = OperationFields[T]

/**
 * Sends one operation in its own request.
 * @throws ValidationError before anything is sent; another GatewayError when it was not executed or its outcome is unknown
 */
export type Send<T extends OperationType> = (fields: FieldsOf<T>, options?: CallOptions) => Promise<Payload<T>>

/** Sends one operation without fields in its own request. @throws GatewayError */
export type Ask<T extends OperationType> = (options?: CallOptions) => Promise<Payload<T>>

/** One result per operation, in order. */
export type ItemResults<L extends readonly OperationObject[]> = {
  -readonly [I in keyof L]: L[I] extends { type: infer T extends OperationType } ? ItemResult<T> : never
}

/**
 * The gateway's JSON interface: one method per operation, whole envelopes, and the asynchronous interface. Operations are
 * validated before they are sent. Nothing is sent twice; with `retries`, only operations that were certainly not executed are
 * retried. To validate phones, ids and texts beforehand, use `busgate/protocol`. Ids beyond 2^53 are bigints.
 */
export class GatewayClient {
  readonly #transport: Transport

  /** A text message; `sms_lifetime` in seconds, 3600 to 259200. Section sms. */
  readonly sms = this.#send('sms')
  /** A Viber message of the variant in `viber_type`; a carousel has 2 to 5 slides. Section viber. */
  readonly viber = this.#send('viber')
  /** Viber with SMS as fallback. Section viber+sms. */
  readonly viberSms = this.#send('viber+sms')
  /** An RCS message with image and button; `rcs_lifetime` in seconds, at least 60. Section rcs. */
  readonly rcs = this.#send('rcs')
  /** RCS with SMS as fallback. Section rcs+sms. */
  readonly rcsSms = this.#send('rcs+sms')
  /** RCS, then Viber, then SMS. Section rcs+viber+sms. */
  readonly rcsViberSms = this.#send('rcs+viber+sms')
  /** A one-time password of 4 to 8 digits by Telegram; `telegram_lifetime` in seconds, at least 60. Section telegram. */
  readonly telegram = this.#send('telegram')
  /** A call that speaks `message`; with `dtmf`, the callback contains the digit pressed. Section voice. */
  readonly voice = this.#send('voice')
  /**
   * The channels in `pipeline` one after the other; the status is sent to the account's callback address. Section pipeline.
   */
  readonly pipeline = this.#send('pipeline')
  /** A call from a number whose last 4 digits are a one-time code; returns `code` and `price`. Section call/otp. */
  readonly callOtp = this.#send('call/otp')
  /** Validity, operator and porting of a number, without notifying it. Section hlr. */
  readonly hlr = this.#send('hlr')
  /** The account's balance: `amount` and `currency`, by public sources. Section balance. */
  readonly balance = this.#ask('balance')
  /** The account's sender names, in the gateway's own shape. Section sender. */
  readonly sender = this.#ask('sender')
  /** The status of a message; `id` is the caller's. statusProof of busgate/protocol says what it proves. Section status. */
  readonly status = this.#send('status')

  /** SMS templates. */
  readonly templates = {
    /** Stores the text `template` under an optional `name`. Section template/create. */
    create: this.#send('template/create'),
    /** Deletes by `id` (text), by the exact text `template`, or both. Section template/delete. */
    delete: this.#send('template/delete'),
    /** All templates; `count` has the form `characters / parts`. Section template/list. */
    list: this.#ask('template/list'),
  }

  /** Viber templates. */
  readonly viberTemplates = {
    /** Submits the text `template` for moderation. Section template/viber/create. */
    create: this.#send('template/viber/create'),
    /** Deletes by `id` (a number), by the exact text `template`, or both. Section template/viber/delete. */
    delete: this.#send('template/viber/delete'),
    /** All templates with their moderation status. Section template/viber/list. */
    list: this.#ask('template/viber/list'),
  }

  /** @throws TypeError that names an invalid option */
  constructor(options: GatewayClientOptions) {
    this.#transport = openTransport(options)
  }

  /**
   * Sends several operations in one envelope and returns one result per operation, in order; a failed operation does not
   * affect the others. With `retries`, only operations that were not sent are retried.
   * @throws ValidationError with index and field before anything is sent; another GatewayError when the whole envelope failed
   */
  async send<L extends readonly OperationObject[] | []>(operations: L, options?: CallOptions): Promise<ItemResults<L>> {
    return (await this.#transport.deliver(operations, options)) as ItemResults<L>
  }

  /**
   * Queues operations on the asynchronous interface, which answers before it executes them; callbacks repeat the request id.
   * Without a callback, an operation's outcome stays unknown.
   * @throws ValidationError before anything is sent; another GatewayError when the operations were not queued or the outcome
   *   is unknown; TypeError without the option asyncUrl
   */
  sendAsync(operations: readonly OperationObject[], options?: CallOptions): Promise<{ requestId: string }> {
    return this.#transport.queue(operations, options)
  }

  /** Closes the connections; a call in flight ends as if the connection were lost. */
  close(): Promise<void> {
    return this.#transport.close()
  }

  /** Calls `close`; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #send<T extends OperationType>(type: T): Send<T> {
    return (fields, options) => this.#one(type, fields, options)
  }

  #ask<T extends OperationType>(type: T): Ask<T> {
    return options => this.#one(type, {}, options)
  }

  async #one<T extends OperationType>(type: T, fields: object, options?: CallOptions): Promise<Payload<T>> {
    const [result] = await this.#transport.deliver([{ ...fields, type }], options)
    if (!result?.ok) throw result?.error
    return result.data as Payload<T>
  }
}
