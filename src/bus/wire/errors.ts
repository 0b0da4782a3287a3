import { GenericError, protocolErrors, protocolErrorsCodesById, UserError } from '@platformatic/kafka'

/** ProtocolError is what a broker answered instead of what it was asked for. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  /** The protocol's name of the code, such as NOT_COORDINATOR. */
  readonly type: string
  readonly code: number
  /** Whether the protocol says that asking again may help. */
  readonly retriable: boolean
  /** All of the answer that holds the code. */
  readonly answer: unknown

  constructor(
    { type, code, retriable }: Pick<ProtocolError, 'type' | 'code' | 'retriable'>,
    message: string,
    options: ErrorOptions & { answer?: unknown } = {},
  ) {
    super(message, options)
    this.type = type
    this.code = code
    this.retriable = retriable
    this.answer = options.answer
  }
}

/** @param message what the broker adds to the code */
export function protocolError(
  code: number,
  message?: string | null,
  options?: ErrorOptions & { answer?: unknown },
): ProtocolError {
  const type = protocolErrorsCodesById[code] ?? 'UNKNOWN_SERVER_ERROR'
  const { message: description = `unknown error ${code}`, canRetry: retriable = false } = protocolErrors[type] ?? {}
  return new ProtocolError({ type, code, retriable }, (message || description).replace(/\.$/, ''), options)
}

/** No answer came: the connection could not be opened or broke, or the time was over. What became of the request is unknown. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** The code of the protocol for a sign-in that failed. */
const signInFailed = 58
const signInHint = 'Check kafka.sasl: a password or secret that changes in its file is used at the next try'

/** Says in our words what the library throws. @param where the broker */
export function translated(error: unknown, where: string): Error {
  const chain = [...causesOf(error)]
  const own = chain.find(one => one instanceof ProtocolError || one instanceof Unanswered)
  if (own) return own
  const answered = chain.find(isAnswer)
  const deepest = chain.at(-1)!
  if (answered?.apiCode === signInFailed || chain.some(one => codeIn(one) === 'PLT_KFK_AUTHENTICATION')) {
    const why = answered?.serverErrorMessage || textOf(deepest)
    return protocolError(signInFailed, `${where}: signing in failed, ${why}. ${signInHint}`, { cause: error })
  }
  if (answered) return protocolError(answered.apiCode, answered.serverErrorMessage, { cause: error })
  const why = textOf(deepest)
  const text = why.includes(where) ? why : `${where}: ${why}`
  if (chain.some(one => one instanceof UserError)) return new Error(text, { cause: error })
  return GenericError.isGenericError(chain[0]!) ? new Unanswered(text, { cause: error }) : chain[0]!
}

/** An error of the library for a code in an answer. */
interface AnswerError extends Error {
  apiCode: number
  serverErrorMessage: string | null
}

const isAnswer = (error: Error): error is AnswerError => typeof (error as Partial<AnswerError>).apiCode === 'number'
const codeIn = (error: Error) => (error as { code?: unknown }).code

/** An error of Node that several addresses share has a code but no text. */
function textOf(error: Error): string {
  return error.message || String(codeIn(error) ?? error.name)
}

/** The error, and what is behind it; of several the first. */
function* causesOf(error: unknown): Generator<Error> {
  for (let one = error; one instanceof Error; one = (one as Partial<AggregateError>).errors?.[0] ?? one.cause) yield one
}
