import { parseJson, type SendType, stringifyJson } from '../../src/protocol/index.ts'
import type { Reaction } from './plan.ts'
import type { Random } from './random.ts'

/** An operation in an envelope. */
export interface Operation {
  type: string
  id: number
  phone?: number
  hook?: string
}

export interface Envelope {
  auth: string
  data: Operation[]
}

export interface GatewayOptions {
  random: Random
  /** Accounts by key. */
  keys: ReadonlyMap<string, string>
  reactionOf: (phone: number) => Reaction
  refusesDuplicates: boolean
  executed: (operation: Operation, msgId: number) => void
}

/** Error texts that the gateway's specification does not list. */
export const texts = {
  notFound: 'Message not found',
  refusals: ['Error in Alpha-name', 'Not enough money', 'Operator not supported'],
  envelope: 'Cannot be processed',
  outage: 'Service temporarily unavailable',
} as const

const statuses = ['ACCEPTED', 'QUEUED', 'DELIVERED', 'UNDELIVERABLE', 'READ']
const withoutStatus: readonly string[] = ['call/otp', 'hlr'] satisfies SendType[]

export const readEnvelope = (body: string): Envelope => parseJson(body) as Envelope

/** A gateway that executes commands, and answers status polls from what it has executed. */
export class SimGateway {
  /** Keys that are denied for a while. */
  readonly deniedKeys = new Set<string>()
  /** Whether every envelope is refused, with an unknown text. */
  isDown = false
  readonly #options: GatewayOptions
  /** Executed operations, by account and id. */
  readonly #known = new Map<string, Operation>()
  readonly #throttled = new Set<number>()
  #msgId = 7000

  constructor(options: GatewayOptions) {
    this.#options = options
  }

  /**
   * Executes one envelope at once.
   * @param refuse 'throttled' or 'refused': refuses the whole envelope
   */
  receive(body: string, refuse: 'throttled' | 'refused' | null): string {
    const { auth, data } = readEnvelope(body)
    const account = this.#options.keys.get(auth)
    if (account === undefined || this.deniedKeys.has(auth)) return refusal('Access denied')
    if (this.isDown) return refusal(texts.outage)
    if (refuse) return refusal(refuse === 'throttled' ? 'Too many requests' : texts.envelope)
    if (data.some(operation => this.#reaction(operation) === 'poison')) return refusal(texts.envelope)
    return stringifyJson({ success: true, data: data.map(operation => this.#execute(operation, account)) })
  }

  #reaction({ phone }: Operation): Reaction {
    return phone === undefined ? 'accepts' : this.#options.reactionOf(phone)
  }

  #execute(operation: Operation, account: string): object {
    const { type, id, phone } = operation
    if (type === 'balance') return { success: true, data: { amount: 31.1683, currency: 'UAH' } }
    if (type === 'status') return this.#status(operation, account)
    const { random, refusesDuplicates, executed } = this.#options
    const reaction = this.#reaction(operation)
    if (reaction === 'refuses') return { success: false, error: random.pick(texts.refusals), data: { id } }
    if (reaction === 'throttles' && !this.#throttled.has(phone!)) {
      this.#throttled.add(phone!)
      return { success: false, error: 'Too many requests', data: { id } }
    }
    const key = `${account} ${id}`
    if (refusesDuplicates && this.#known.has(key)) return { success: false, error: 'id exists', data: { id } }
    this.#known.set(key, operation)
    const msgId = ++this.#msgId
    executed(operation, msgId)
    return { success: true, data: payloadOf(operation, msgId) }
  }

  /**
   * Answers with a status of an executed message, and with "not found" of any other. Sometimes answers UNKNOWN to both.
   */
  #status({ id }: Operation, account: string): object {
    const { random } = this.#options
    if (random.chance(0.15)) return { success: true, data: { id, type: 'sms', status: 'UNKNOWN' } }
    const known = this.#known.get(`${account} ${id}`)
    if (!known || withoutStatus.includes(known.type)) return { success: false, error: texts.notFound, data: { id } }
    return { success: true, ...anyForm(id, random.pick(statuses), random) }
  }
}

/** A status in any form that the specification allows. */
function anyForm(id: number, status: string, random: Random): object {
  if (!random.chance(0.3)) return { data: { id, type: 'sms', status } }
  const unlisted = random.pick(['SENT', 'IN_PROGRESS'])
  return random.pick<object>([
    { data: status },
    { data: [{ id, status }] },
    { data: { id, state: unlisted } },
    { data: { id, status: { code: 3, text: status } } },
    { data: { id: `gw-${id}`, status: unlisted } },
    { data: { id: id + 1, status } },
    { data: { id }, status },
    { data: { id, status: 3 } },
    { data: {} },
  ])
}

function payloadOf({ type, id, phone }: Operation, msgId: number): object {
  if (type === 'call/otp') return { code: '0420', price: 0.35 }
  if (type === 'hlr') return { phone, status: 'DELIVERED', mccmnc: 25501, ported: false }
  return { id, msg_id: msgId, parts: 1 }
}

const refusal = (error: string) => stringifyJson({ success: false, error })
