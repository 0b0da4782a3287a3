import { isSendType, type OperationType, type SendType } from '../../protocol/index.ts'
import { acceptedItem, refusedItem, texts } from '../answers.ts'
import { repliesTo } from '../callback.ts'
import { type Handler, idText } from '../gateway.ts'
import { sendHandler } from './send.ts'
import { createSms, createViber, deleteSms, deleteViber, listSms, listViber } from './templates.ts'

const balanceHandler: Handler = (_operation, { account, gateway }) =>
  acceptedItem(JSON.stringify({ amount: Math.round(account.balance * 1e4) / 1e4, currency: gateway.settings.currency }))

/** The specification shows no shape; the public user interface lists a name and a status. */
const senderHandler: Handler = (_operation, { gateway }) => {
  const names = [...(gateway.settings.senders ?? ['Sandbox'])]
  return acceptedItem(JSON.stringify({ senders: names.map(name => ({ name, status: 'ACTIVE' })) }))
}

/** Tells a message's state, which is ACCEPTED before the final one. */
const statusHandler: Handler = ({ id }, { account, gateway, now }) => {
  const message = account.executions.messageOf(id!)
  const echoed = idText(id!, gateway)
  if (!message) return refusedItem(texts.notFound, echoed)
  const state = now < message.finalAt ? 'ACCEPTED' : message.status
  const replies = state === 'REPLIED' ? `,"replies":${JSON.stringify(repliesTo(message))}` : ''
  return acceptedItem(`{"id":${echoed},"type":"${message.channel}","status":"${state}"${replies}}`)
}

/** How the gateway answers what is no send. */
const handlers: Readonly<Record<Exclude<OperationType, SendType>, Handler>> = {
  balance: balanceHandler,
  sender: senderHandler,
  status: statusHandler,
  'template/create': createSms,
  'template/list': listSms,
  'template/delete': deleteSms,
  'template/viber/create': createViber,
  'template/viber/list': listViber,
  'template/viber/delete': deleteViber,
}

export const handlerOf = (type: OperationType): Handler => (isSendType(type) ? sendHandler : handlers[type])
