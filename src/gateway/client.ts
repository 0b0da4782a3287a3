import type { OperationFields, OperationObject, OperationType, Payload } from '../protocol/index.ts'
import type { GatewayClientOptions } from './options.ts'
import type { ItemResult } from './outcome.ts'
import { type CallOptions, Transport } from './transport.ts'

/** The fields of an operation without its type; additional properties pass through. */
export type FieldsOf<T extends OperationType> = OperationFields[T]

/**
 * One operation in a request of its own.
 * @throws ValidationError before anything is sent; any other GatewayError when it was not executed or nobody can tell.
 */
export type Send<T extends OperationType> = (fields: FieldsOf<T>, options?: CallOptions) => Promise<Payload<T>>

/**
 * One operation without fields, in a request of its own.
 * @throws GatewayError
 */
export type Ask<T extends OperationType> = (options?: CallOptions) => Promise<Payload<T>>

/** A result for each operation, in their order. */
export type ItemResults<L extends readonly OperationObject[]> = {
  -readonly [I in keyof L]: L[I] extends { type: infer T extends OperationType } ? ItemResult<T> : never
}

/**
 * The gateway's JSON interface: a method for each of its operations, whole envelopes, and the asynchronous interface.
 * Operations are checked before they are sent. Nothing is sent twice, unless `retries` asks for it, and then only what
 * is known not to have been executed. Phones, ids and texts are checked by `busgate/protocol`; ids beyond 2^53 are
 * bigints.
 */
export class GatewayClient {
  readonly #transport: Transport

  /** A text message; `sms_lifetime` in seconds, 3600 to 259200. Section sms. */
  readonly sms = this.#send('sms')
  /** A Viber message of the variant in `viber_type`; a carousel has 2 to 5 slides. Section viber. */
  readonly viber = this.#send('viber')
  /** Viber, and SMS where Viber fails. Section viber+sms. */
  readonly viberSms = this.#send('viber+sms')
  /** An RCS message with image and button; `rcs_lifetime` in seconds, at least 60. Section rcs. */
  readonly rcs = this.#send('rcs')
  /** RCS, and SMS where RCS fails. Section rcs+sms. */
  readonly rcsSms = this.#send('rcs+sms')
  /** RCS, then Viber, then SMS. Section rcs+viber+sms. */
  readonly rcsViberSms = this.#send('rcs+viber+sms')
  /** A one-time password of 4 to 8 digits by Telegram; `telegram_lifetime` in seconds, at least 60. Section telegram. */
  readonly telegram = this.#send('telegram')
  /** A call that speaks `message`; with `dtmf` the digit pressed comes back in the callback. Section voice. */
  readonly voice = this.#send('voice')
  /** The channels in `pipeline` one after the other; its status goes to the account's own address. Section pipeline. */
  readonly pipeline = this.#send('pipeline')
  /** A call from a number whose last 4 digits are a one-time code; answers `code` and `price`. Section call/otp. */
  readonly callOtp = this.#send('call/otp')
  /** Validity, operator and porting of a number, which is not notified. Section hlr. */
  readonly hlr = this.#send('hlr')
  /** What is left on the account: `amount` and `currency`, by public sources. Section balance. */
  readonly balance = this.#ask('balance')
  /** The account's sender names, in the gateway's own shape. Section sender. */
  readonly sender = this.#ask('sender')
  /** The status of a message; `id` is the caller's. What `status` means tells stateOf of busgate/protocol. */
  readonly status = this.#send('status')

  /** Templates of SMS. */
  readonly templates = {
    /** Keeps the text `template` under an optional `name`. Section template/create. */
    create: this.#send('template/create'),
    /** Deletes by `id` (text), by the exact text `template`, or both. Section template/delete. */
    delete: this.#send('template/delete'),
    /** All templates; `count` reads `characters / parts`. Section template/list. */
    list: this.#ask('template/list'),
  }

  /** Templates of Viber. */
  readonly viberTemplates = {
    /** Hands the text `template` in for moderation. Section template/viber/create. */
    create: this.#send('template/viber/create'),
    /** Deletes by `id` (a number), by the exact text `template`, or both. Section template/viber/delete. */
    delete: this.#send('template/viber/delete'),
    /** All templates with their moderation status. Section template/viber/list. */
    list: this.#ask('template/viber/list'),
  }

  /** @throws TypeError when an option cannot be used; it names the option. */
  constructor(options: GatewayClientOptions) {
    this.#transport = new Transport(options)
  }

  /**
   * Sends several operations in one envelope and returns the result of each, in their order; a failed one does not stop
   * the others. With `retries`, only operations that were not sent are retried.
   * @throws ValidationError, naming index and field, before anything is sent; another GatewayError when the envelope
   * failed as a whole and no operation has an outcome of its own.
   */
  async send<L extends readonly OperationObject[] | []>(operations: L, options?: CallOptions): Promise<ItemResults<L>> {
    return (await this.#transport.deliver(operations, options)) as ItemResults<L>
  }

  /**
   * Hands operations to the asynchronous interface, which answers before it executes them; callbacks repeat the
   * request id. What becomes of an operation without a callback cannot be known.
   * @throws ValidationError before anything is sent; another GatewayError when they were not queued or nobody can tell;
   * TypeError without the option asyncUrl.
   */
  sendAsync(operations: readonly OperationObject[], options?: CallOptions): Promise<{ requestId: string }> {
    return this.#transport.queue(operations, options)
  }

  /** Closes the connections; a call in flight ends as if the connection had been lost. */
  close(): Promise<void> {
    return this.#transport.close()
  }

  /** Same as `close`, for `await using`. */
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
