import { Buffer } from 'node:buffer'
import type { OutgoingRecord } from '../bus/port.ts'
import type { SealingKey, Settings } from '../config/index.ts'
import { isMessageId } from '../protocol/ids.ts'
import { type OperationObject, operations, type SendType } from '../protocol/index.ts'
import { cutTextComplaint, isCutText, pathToText } from '../protocol/json.ts'
import type { viberContentNames } from '../protocol/message-facts.ts'
import { type Time, timeOf } from '../time.ts'
import { branchOf, type CommandOptions, isInvalid, readCommand } from './command.ts'
import { createEncoder } from './encoder.ts'
import type { CallOtp, SendCommand } from './generated.ts'
import { beyondHorizon, type Limits, limitsOf } from './limits.ts'
import { type FieldProblem, problemsOfNew, sentenceOf } from './new-command.ts'
import { fieldOf } from './reading.ts'
import type { SchemaRegistry } from './registry.ts'
import { schemas, subjectOf } from './schemas.ts'
import { hasContent } from './sealed.ts'

/** The fields that an operation object names, at every depth; optional ones may also be null. */
type Known<T> = T extends readonly (infer E)[]
  ? Known<E>[]
  : T extends object
    ? { [K in keyof T as string extends K ? never : K]: undefined extends T[K] ? Value<T[K]> | null : Value<T[K]> }
    : T

/** What the interface does not type, the topic has as text. */
type Value<T> = unknown extends T ? string : Known<T>

/** Fields of the record on the topic that the gateway does not get. */
type TopicFields<T extends SendType> = T extends 'call/otp' | 'hlr' ? Partial<Pick<CallOtp, 'comment'>> : unknown

/** The fields of which one is needed, where the interface requires none. */
type Content<T extends SendType> = (typeof viberContentNames)[number] | (T extends 'viber+sms' ? 'sms_message' : never)

type OneOf<M, K extends keyof M> = { [P in K]: { [Q in P]: NonNullable<M[Q]> } }[K]

type Fields<T extends SendType> = Omit<Known<OperationObject<T>>, 'type' | 'id' | 'phone' | 'hook'> & TopicFields<T>

/** The content of a message: the fields of its operation, without those that every command has. */
export type NewMessage<T extends SendType> = T extends 'viber' | 'viber+sms'
  ? Fields<T> & OneOf<Fields<T>, Content<T> & keyof Fields<T>>
  : Fields<T>

/** A command of one type. */
export interface NewCommandOf<T extends SendType> {
  /** Your own id, 1 to 2^63-1, unique in its account for ever: a new attempt needs a new id. */
  id: bigint | number
  /** Digits only, in international format such as 380501234567; `toPhone` reads what people write. */
  phone: bigint | number
  /** The gateway's type; it decides the fields of `message`. */
  type: T
  /** Content, with the field names of the gateway's interface. */
  message: NewMessage<T>
  /** Gateway account that sends it, as named in busgate's settings. Default: `default`. */
  account?: string
  /**
   * The command topic: its name, or its place in `topics.commands`, of which 0 is the most urgent. Default: 0 for call/otp and
   * telegram, the last one for others.
   */
  lane?: string | number
  /** Not sent after this time, which is at most ten years ahead. Default: null; only the maximum age applies. */
  deadline?: Time | null
  /**
   * Waits until this time, at most `commands.horizonMs` ahead; the maximum age counts from then. Default: null; it does not wait.
   * Workers that do not know this field send at once: update them first.
   */
  notBefore?: Time | null
  /** What to do in doubt, when it was perhaps sent. Default: `DEFAULT`, as the settings say for its type. */
  delivery?: SendCommand['delivery']
  /** Your own callback address. Default: null; busgate's, if the type accepts one. */
  hook?: string | null
  /** Your reference. Copied to the result, and to status events if the callback address has room for it. Default: null. */
  correlationId?: string | null
  /** Your customer or department, copied as correlationId is. Default: null. */
  tenant?: string | null
  /** Your campaign, copied as correlationId is. Default: null. */
  campaign?: string | null
  /**
   * Additional properties of the gateway's operation object, each value a JSON text such as `"5"`. Default: none. The names of its
   * own fields are refused.
   */
  extra?: Record<string, string>
}

/** A command as an upstream service writes it. See schemas/send-command.avsc for every field. */
export type NewCommand = { [T in SendType]: NewCommandOf<T> }[SendType]

/** What is wrong with one of the commands of a call. */
export interface CommandProblem extends FieldProblem {
  /** Position in the list. */
  index: number
  /** The command's id, as it was given. */
  id: unknown
}

/** Something is wrong with a command; nothing was written. The message names its id, the field, and what is expected. */
export class InvalidCommandError extends Error {
  override readonly name = 'InvalidCommandError'
  readonly code = 'INVALID_COMMAND'
  /** All that is wrong, in all commands of the call. */
  readonly problems: readonly CommandProblem[]

  constructor(problems: readonly [CommandProblem, ...CommandProblem[]]) {
    const [first, ...others] = problems
    const more = others.length > 0 ? ` (and ${others.length} more: see problems)` : ''
    super(`${nameOf(first.id)}: ${sentenceOf(first)}${more}`)
    this.problems = problems
  }
}

/** A valid command, and its record in the clear. */
interface Draft {
  type: SendType
  value: SendCommand
  record: OutgoingRecord
}

/** Makes records of new commands. */
export class CommandRecords {
  readonly #topics: readonly string[]
  readonly #options: CommandOptions
  readonly #limits: Limits
  readonly #horizonMs: number
  readonly #encoders: ReadonlyMap<string, (value: SendCommand) => Buffer>
  readonly #seal: SealingKey | null

  private constructor(
    settings: Settings,
    encoders: ReadonlyMap<string, (value: SendCommand) => Buffer>,
    seal: SealingKey | null,
  ) {
    this.#topics = settings.topics.commands
    this.#options = { ...settings.gateway, hookFor: () => null }
    this.#limits = limitsOf(settings)
    this.#horizonMs = settings.commands.horizonMs
    this.#encoders = encoders
    this.#seal = seal
  }

  /** @param seal the key that seals content; null: it is written in the clear */
  static async open(settings: Settings, registry: SchemaRegistry, seal: SealingKey | null): Promise<CommandRecords> {
    const open = async (topic: string) =>
      [topic, await createEncoder<SendCommand>(subjectOf(topic), schemas.command, registry)] as const
    return new CommandRecords(settings, new Map(await Promise.all(settings.topics.commands.map(open))), seal)
  }

  /** @throws InvalidCommandError; Error when it is no list */
  of(commands: readonly NewCommand[]): Draft[] {
    if (!Array.isArray(commands)) throw new Error('send: commands must be an array')
    const problems: CommandProblem[] = []
    const drafts: Draft[] = []
    for (const [index, command] of commands.entries()) {
      const made = this.#draftOf(command)
      const id = (command as NewCommand | null)?.id
      if ('problems' in made) problems.push(...made.problems.map(problem => ({ index, id, ...problem })))
      else drafts.push(made)
    }
    const [first, ...others] = problems
    if (first) throw new InvalidCommandError([first, ...others])
    return drafts
  }

  /** The records to write: their content is sealed if there is a key for it. */
  async recordsOf(drafts: readonly Draft[]): Promise<OutgoingRecord[]> {
    const key = this.#seal
    if (key === null) return drafts.map(({ record }) => record)
    const { seal } = await import('./seal.ts')
    return Promise.all(
      drafts.map(async ({ type, value, record }) => {
        if (!hasContent(type)) return record
        return { ...record, value: this.#encoders.get(record.topic)!(await seal(value, type, key)) }
      }),
    )
  }

  #seals = (type: SendType): boolean => this.#seal !== null && hasContent(type)

  #draftOf(command: NewCommand): Draft | { problems: readonly FieldProblem[] } {
    const problems = problemsOfNew(command, this.#topics)
    if (problems.length > 0) return { problems }
    const topic = topicOf(command, this.#topics)
    const value = complete(command)
    const cut = pathToText(value, isCutText)
    const flaw = cut && `${fieldOf(cut)} ${cutTextComplaint}`
    const { type } = command
    const read = readCommand(value, this.#options, null, flaw, this.#seals(type))
    if (isInvalid(read)) return { problems: read.problems }
    const excess = beyondHorizon(read, this.#horizonMs, Date.now()) ?? this.#limits(read)
    if (excess) return { problems: [{ field: excess.field, expected: excess.expected }] }
    try {
      const record = { topic, key: Buffer.from(String(command.id)), value: this.#encoders.get(topic)!(value) }
      return { type, value, record }
    } catch (error) {
      return { problems: [{ field: '', expected: (error as Error).message }] }
    }
  }
}

/** @param topics of commands, the most urgent first */
function topicOf({ type, lane }: NewCommand, topics: readonly string[]): string {
  if (typeof lane === 'string') return lane
  return topics[lane ?? (operations[type].urgent ? 0 : topics.length - 1)]!
}

/** Most characters of a wrong id in an error. */
const longestShownId = 32

/** An object's own toString may throw, and the digits of a huge bigint take seconds to compute. */
function nameOf(id: unknown): string {
  if (typeof id === 'bigint' && !isMessageId(id)) return 'a command with an id out of range'
  if (typeof id !== 'string' && typeof id !== 'number' && typeof id !== 'bigint') return 'a command without an id'
  return `command ${String(id).slice(0, longestShownId)}`
}

function complete(command: NewCommand): SendCommand {
  const { id, phone, type, message, account = 'default', deadline = null, delivery = 'DEFAULT', extra = {} } = command
  const { hook = null, correlationId = null, tenant = null, campaign = null, notBefore = null } = command
  return {
    id: BigInt(id),
    phone: typeof phone === 'bigint' ? Number(phone) : phone, // a number that loses digits is too long for a phone
    account,
    deadline: timeOf(deadline),
    delivery,
    hook,
    correlationId,
    tenant,
    campaign,
    extra,
    notBefore: timeOf(notBefore),
    message: { [branchOf(type)]: message } as unknown as SendCommand['message'],
  }
}
