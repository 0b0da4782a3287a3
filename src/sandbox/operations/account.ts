import { acceptedItem, refusedItem, texts } from '../answers.ts'
import { repliesTo } from '../callback.ts'
import type { Handler } from '../gateway.ts'
import { idText } from '../gateway.ts'

export const balanceHandler: Handler = (_operation, { account, gateway }) =>
  acceptedItem(JSON.stringify({ amount: Math.round(account.balance * 1e4) / 1e4, currency: gateway.settings.currency }))

/** The specification shows no shape; the public user interface lists a name and a status. */
export const senderHandler: Handler = (_operation, { gateway }) => {
  const names = [...(gateway.settings.senders ?? ['Sandbox'])]
  return acceptedItem(JSON.stringify({ senders: names.map(name => ({ name, status: 'ACTIVE' })) }))
}

/** Tells a message's state, which is ACCEPTED before the final one. */
export const statusHandler: Handler = ({ id }, { account, gateway, now }) => {
  const message = account.executions.messageOf(id!)
  const echoed = idText(id!, gateway)
  if (!message) return refusedItem(texts.notFound, echoed)
  const state = now < message.finalAt ? 'ACCEPTED' : message.status
  const replies = state === 'REPLIED' ? `,"replies":${JSON.stringify(repliesTo(message))}` : ''
  return acceptedItem(`{"id":${echoed},"type":"${message.channel}","status":"${state}"${replies}}`)
}
