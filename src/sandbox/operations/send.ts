import { partsOf, operations as protocol, type SendType } from '../../protocol/index.ts'
import { smsTextOf } from '../../protocol/sms-text.ts'
import type { ExecutedMessage, Id } from '../accounts.ts'
import { acceptedItem, refusedItem, texts } from '../answers.ts'
import { statusCallback } from '../callback.ts'
import { chance, pickWithin } from '../chance.ts'
import { type Ending, endingOf } from '../endings.ts'
import { type Exchange, echoOf, type GivenOperation, type Handler } from '../gateway.ts'
import type { Reading } from '../open-points.ts'
import type { CallbackTrouble } from '../settings.ts'

const otpPrice = 1.5

/** Refuses a send, or executes it: counts, charges and calls back. */
export const sendHandler: Handler = (operation, exchange) => {
  const { account, gateway } = exchange
  const type = operation.type as SendType
  const { open } = gateway.settings
  const echo = echoOf(operation.id, gateway)
  const ending = endingOf(type, operation.phone ?? 0)
  const parts = partsOfOperation(operation)
  const { answer } = protocol[type]
  const price = answer === 'code' ? otpPrice : parts

  const refusal = refusalOf(operation, ending, price, exchange)
  if (refusal) return refusedItem(refusal, echo)

  account.balance -= price
  const message = execute(operation, ending, exchange)
  if (answer === 'lookup') return acceptedItem(lookUp(operation, message.status, open.values))
  if (answer === 'code') {
    const price = open.values === 'texts' ? '"1,50"' : otpPrice
    return acceptedItem(`{"code":"${codeOf(operation.id)}","price":${price}}`)
  }
  const { msgId } = message
  const named = open.msgId === 'absent' ? '' : `"msg_id":${open.ids === 'string' ? `"${msgId}"` : msgId},`
  return acceptedItem(`{${echo}${named}"parts":${open.values === 'texts' ? '"one or more"' : parts},"data":0}`)
}

function refusalOf(operation: GivenOperation, ending: Ending, price: number, exchange: Exchange): string | undefined {
  const { account, gateway } = exchange
  const { id } = operation
  if (gateway.settings.open.duplicates === 'refuse' && id !== undefined && account.executions.executionsOf(id) > 0)
    return texts.duplicate
  if (ending.refused && !(ending.refusedOnce && wasRefused(operation, exchange))) return ending.refused
  return account.balance < price ? texts.money : undefined
}

/** Whether the operation's identifier was refused before; marks it as refused. */
function wasRefused({ id }: GivenOperation, { account }: Exchange): boolean {
  if (id === undefined || account.refusedOnce.has(id)) return true
  account.refusedOnce.add(id)
  return false
}

function execute(operation: GivenOperation, ending: Ending, exchange: Exchange): ExecutedMessage {
  const { account, gateway, now } = exchange
  const { id } = operation
  const delay = ending.early ? 0 : pickWithin(gateway.settings.callbackDelayMs, chance('delay', id))
  const message: ExecutedMessage = {
    msgId: gateway.nextMsgId(),
    channel: channelOf(operation),
    status: ending.status,
    hasStatus: protocol[operation.type as SendType].hasStatus,
    finalAt: now + delay,
  }
  account.executions.add(id, message)
  const url = callbackUrl(operation, exchange)
  if (url) callBack(url, operation, message, ending, exchange)
  return message
}

function callBack(
  url: string,
  operation: GivenOperation,
  message: ExecutedMessage,
  ending: Ending,
  exchange: Exchange,
): void {
  const { gateway, now } = exchange
  let text: string | undefined
  const body = () => {
    text ??= statusCallback(operation, message, ending, exchange)
    return text
  }
  if (ending.early) {
    exchange.holds.push(gateway.callbacks.sendNow(url, body))
    return
  }
  const times = Array.from({ length: ending.callbacks }, () => message.finalAt - now)
  for (const time of troubled(times, gateway.settings.callbackTrouble, chance('callback', operation.id))) {
    gateway.callbacks.schedule(url, body, time)
  }
}

function callbackUrl({ type, hook }: GivenOperation, { gateway, account }: Exchange): string | undefined {
  const kept = protocol[type].hook
  if (kept === 'none') return undefined
  if (kept === 'accepted' || (kept === 'not shown' && gateway.settings.open.voiceHook === 'kept')) return hook
  const { accountCallbackUrl: url } = gateway.settings
  return typeof url === 'string' ? url : url[account.name]
}

/** The channel of a chain that reaches the phone, chosen by the phone's third-last digit. */
function channelOf({ type, phone, pipeline }: GivenOperation): string {
  const tried = protocol[type as SendType].channels ?? (Array.isArray(pipeline) ? pipeline : [])
  return tried[(Math.floor(Number(phone) / 100) % 10) % tried.length] ?? type
}

/** Parts of the SMS text; 1 for any other message. */
function partsOfOperation(operation: GivenOperation): number {
  const sms = smsTextOf(operation.type as SendType, operation)
  return sms ? partsOf(sms.text).parts : 1
}

function codeOf(id: Id | undefined): string {
  return String(Math.floor(chance('code', id) * 10_000)).padStart(4, '0')
}

const networks = [
  { name: 'Kyivstar', prefix: 38067, mccmnc: 25503 },
  { name: 'Vodafone', prefix: 38050, mccmnc: 25501 },
  { name: 'lifecell', prefix: 38063, mccmnc: 25506 },
] as const

const country = { name: 'Ukraine', prefix: 380 }

/** The lookup of a phone; always the same for one phone. */
function lookUp({ phone }: GivenOperation, status: string, values: Reading<'values'>): string {
  const origin = pick(chance('origin', phone))
  const ported = chance('ported', phone) < 0.2
  const current = ported ? pick(chance('network', phone)) : origin
  return JSON.stringify({
    phone: Number(phone),
    status,
    imsi: current.mccmnc * 1e10 + Math.floor(chance('imsi', phone) * 1e10),
    ...(values === 'texts'
      ? { mccmnc: `0${current.mccmnc}`, ported: Number(current !== origin) }
      : { mccmnc: current.mccmnc, ported: current !== origin }),
    network: { origin: recordOf(origin), ported: recordOf(current) },
  })
}

function pick(share: number) {
  return networks[Math.floor(share * networks.length)]!
}

function recordOf({ name, prefix }: (typeof networks)[number]) {
  return { name, prefix, country }
}

/**
 * When a message's callbacks are sent.
 * @param times milliseconds from now, one per callback
 * @param share 0 to 1, derived from the message
 */
function troubled(times: readonly number[], trouble: CallbackTrouble, share: number): number[] {
  const { drop = 0, late = 0, lateMs = 1000, repeat = 0 } = trouble
  if (share < drop) return []
  if (share < drop + late) return times.map(time => time + lateMs)
  return share < drop + late + repeat ? [...times, ...times] : [...times]
}
