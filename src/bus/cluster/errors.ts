import { GenericError, protocolErrors, protocolErrorsCodesById, ResponseError, UserError } from '@platformatic/kafka'
import { BusUnavailable } from '../port.ts'

/** An error code in a broker's answer. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  /** The protocol's name of the code, such as NOT_COORDINATOR. */
  readonly type: string
  readonly code: number
  /** The whole answer that holds the code. */
  readonly answer: unknown

  /** @param message the broker's explanation, if any */
  constructor(code: number, message?: string | null, options: ErrorOptions & { answer?: unknown } = {}) {
    const type = protocolErrorsCodesById[code] ?? 'UNKNOWN_SERVER_ERROR'
    const { message: description = `unknown error ${code}` } = protocolErrors[type] ?? {}
    super((message || description).replace(/\.$/, ''), options)
    this.type = type
    this.code = code
    this.answer = options.answer
  }
}

export const protocolError = (...args: ConstructorParameters<typeof ProtocolError>) => new ProtocolError(...args)

/** No answer came: the connection failed, or the request timed out. Whether the request took effect is unknown. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** Reason of a transient refusal: what the broker itself is waiting for. */
export type Cause = 'leader' | 'coordinator' | 'loading' | 'transaction' | 'replicas' | 'topic' | 'stability'

const transientCodes: Record<string, Cause> = {
  NOT_LEADER_OR_FOLLOWER: 'leader',
  LEADER_NOT_AVAILABLE: 'leader',
  FENCED_LEADER_EPOCH: 'leader',
  UNKNOWN_LEADER_EPOCH: 'leader',
  NOT_COORDINATOR: 'coordinator',
  COORDINATOR_NOT_AVAILABLE: 'coordinator',
  COORDINATOR_LOAD_IN_PROGRESS: 'loading',
  CONCURRENT_TRANSACTIONS: 'transaction',
  NOT_ENOUGH_REPLICAS: 'replicas',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'replicas',
  KAFKA_STORAGE_ERROR: 'replicas',
  NETWORK_EXCEPTION: 'replicas',
  REQUEST_TIMED_OUT: 'replicas',
  CORRUPT_MESSAGE: 'replicas',
  UNKNOWN_TOPIC_OR_PARTITION: 'topic',
  UNSTABLE_OFFSET_COMMIT: 'stability',
}

/** Whether the error is a transient refusal for one of these reasons; without reasons, for any. */
export function isTransient(error: unknown, ...causes: Cause[]): boolean {
  const cause = error instanceof ProtocolError ? transientCodes[error.type] : undefined
  return cause !== undefined && (causes.length === 0 || causes.includes(cause))
}

/**
 * Passes the answer through. @throws BusUnavailable when no broker answered, or when the leader or coordinator is not known
 * yet
 */
export async function reachable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    const isOutage = error instanceof Unanswered || isTransient(error, 'leader', 'coordinator', 'loading')
    throw isOutage ? new BusUnavailable(`no broker answers: ${(error as Error).message}`, { cause: error }) : error
  }
}

/** The number of an error code of the protocol. */
export const codeNamed = (name: string): number => protocolErrors[name]!.code

const signInFailed = codeNamed('SASL_AUTHENTICATION_FAILED')
const signInHint = 'Check kafka.sasl: a password or secret that changes in its file is used at the next try'

/** Turns an error of the library into one of ours. @param where the broker */
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
  if (answered) return refusal(answered, error)
  const why = textOf(deepest)
  const text = why.includes(where) ? why : `${where}: ${why}`
  if (chain.some(one => one instanceof UserError)) return new Error(text, { cause: error })
  return GenericError.isGenericError(chain[0]!) ? new Unanswered(text, { cause: error }) : chain[0]!
}

/** The library's error for an error code in an answer. */
interface AnswerError extends Error {
  apiCode: number
  serverErrorMessage: string | null
}

/** The partition was skipped because another one was refused. */
const notAttempted = codeNamed('OPERATION_NOT_ATTEMPTED')

/** The answer's error, or the first partition error that is a cause and not a consequence. */
function refusal({ apiCode, serverErrorMessage }: AnswerError, cause: unknown): ProtocolError {
  const answer = answerIn(cause)
  const refused = refusedIn(answer).toSorted(
    (a, b) => Number(a.code === notAttempted) - Number(b.code === notAttempted),
  )
  const [first] = refused
  if (!first) return protocolError(apiCode, serverErrorMessage, { cause, answer })
  return protocolError(first.code, `${first.name}: ${protocolError(first.code).message}`, { cause, answer })
}

type FailedAnswer = ResponseError & { response?: unknown; errors: { path?: string }[] }

/** The answer from which the library made the error; undefined if there is none. */
const answerIn = (error: unknown): unknown =>
  error instanceof ResponseError ? (error as FailedAnswer).response : undefined

/** The answer from which the library made the error, if only topics or partitions were refused; else undefined. */
export function partialAnswer(error: unknown): unknown {
  if (!(error instanceof ResponseError)) return undefined
  const { errors } = error as FailedAnswer
  return errors.every(({ path }) => path?.includes('/topics/')) ? answerIn(error) : undefined
}

interface TopicCodes {
  name: string
  partitions?: { partitionIndex: number; errorCode: number }[]
  resultsByPartition?: { partitionIndex: number; partitionErrorCode: number }[]
}

function refusedIn(answer: unknown): { name: string; code: number }[] {
  const { topics, resultsByTransaction } = (answer ?? {}) as {
    topics?: TopicCodes[]
    resultsByTransaction?: { topicResults: TopicCodes[] }[]
  }
  const all = topics ?? resultsByTransaction?.flatMap(({ topicResults }) => topicResults) ?? []
  return all.flatMap(({ name, partitions = [], resultsByPartition = [] }) => {
    const codes = [
      ...partitions.map(({ partitionIndex, errorCode }) => ({ partitionIndex, code: errorCode })),
      ...resultsByPartition.map(one => ({ partitionIndex: one.partitionIndex, code: one.partitionErrorCode })),
    ]
    return codes
      .filter(({ code }) => code !== 0)
      .map(({ partitionIndex, code }) => ({ name: `${name}/${partitionIndex}`, code }))
  })
}

const isAnswer = (error: Error): error is AnswerError => typeof (error as Partial<AnswerError>).apiCode === 'number'
const codeIn = (error: Error) => (error as { code?: unknown }).code

/** Node's AggregateError for several addresses has a code but no message. */
function textOf(error: Error): string {
  return error.message || String(codeIn(error) ?? error.name)
}

/** The error and its chain of causes; follows the first of several. */
function* causesOf(error: unknown): Generator<Error> {
  for (let one = error; one instanceof Error; one = (one as Partial<AggregateError>).errors?.[0] ?? one.cause) yield one
}
